import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import { setImmediate as turn } from 'node:timers/promises';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** The memory that is in use when all garbage is gone, in bytes: of the heap, and of buffers. */
export async function memoryInUse(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await turn();
    if (typeof collect === 'function') collect();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Timers, sockets and all else that keeps this process alive, by kind. */
export function activeResources(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
