import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

/** Returns the config entry of a server in a container. The hub treats each version as a changed entry. */
export const entryOf = (version: number) => ({
  image: 'node:24-bookworm-slim',
  command: 'node',
  args: ['/fixtures/echo.mjs'],
  mounts: [{ source: fixtures, target: '/fixtures' }],
  env: { VERSION: String(version) },
  auto_start: true,
  max_restarts: 1000,
});
