import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nodeImage } from './containers.ts';
import { startHub } from './subjects/hub.ts';
import type { RuntimeKind } from './subjects/subjects.ts';
import { residentMb } from './usage.ts';

const servers = 20;
/** Time in ms within which the hub releases the memory of its start. */
const settleMs = 5_000;

const fixtures = fileURLToPath(new URL('../fixtures/servers', import.meta.url));

/** Returns the resident memory of the hub in MB, with 20 running servers and no calls. `root` is the hub's checkout. */
export async function idleMemory(
  runtime: RuntimeKind,
  root = process.cwd(),
): Promise<number | undefined> {
  const entry =
    runtime === 'docker'
      ? {
          image: nodeImage,
          command: 'node',
          args: ['/servers/echo.mjs'],
          mounts: [`${fixtures}:/servers`],
        }
      : { command: process.execPath, args: [`${fixtures}/echo.mjs`] };
  const names = Array.from({ length: servers }, (_, index) => `echo${index + 1}`);
  await using hub = await startHub(
    'agenthub-bench-idle',
    Object.fromEntries(names.map(name => [name, { ...entry, runtime, auto_start: true }])),
    { root },
  );
  await delay(settleMs);
  return residentMb(hub.pid);
}
