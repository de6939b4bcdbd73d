import { afterAll } from 'vitest';
import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import { setImmediate as turn } from 'node:timers/promises';

const { FUZZ_SEED, FUZZ_COUNT } = process.env;

/** FUZZ_SEED replays a run; without it every run is another. */
export const seed = FUZZ_SEED === undefined ? Date.now() % 2 ** 31 : Number(FUZZ_SEED);

const total = Number(FUZZ_COUNT ?? 100_000);

/** A part of FUZZ_COUNT, which is 100,000 for all tests together unless it is set. */
export const share = (of: number): number => Math.round(total * of);

/** What a failure needs to be replayed: the seed and the message, as JSON text. */
export function replay(message?: Buffer | string): string {
  const text =
    message === undefined
      ? ''
      : JSON.stringify(
          (typeof message === 'string' ? message : message.toString('latin1')).slice(0, 4_000),
        );
  return `FUZZ_SEED=${seed} FUZZ_COUNT=${total} ${text}`;
}

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

/** What nobody caught in this process, with what replays it. A hub that lets anything through here would stop. */
export const uncaught: string[] = [];
const keep = (error: unknown) =>
  void uncaught.push(`${error instanceof Error ? error.stack : String(error)}\n${replay()}`);
process.on('unhandledRejection', keep).on('uncaughtException', keep);
afterAll(() => void process.off('unhandledRejection', keep).off('uncaughtException', keep));
