import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import { setImmediate as turn } from 'node:timers/promises';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** Collects garbage and returns the memory in use, in bytes: of the heap and of array buffers. */
export async function memoryInUse(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await turn();
    if (typeof collect === 'function') collect();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Counts timers, sockets and other resources that keep this process alive, by kind. */
export function activeResources(): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
