import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

/** A server of the soak in its container; each version is another one to the hub. */
export const entryOf = (version: number) => ({
  image: 'node:24-bookworm-slim',
  command: 'node',
  args: ['/fixtures/echo.mjs'],
  mounts: [{ source: fixtures, target: '/fixtures' }],
  env: { VERSION: String(version) },
  auto_start: true,
  max_restarts: 1000,
});
