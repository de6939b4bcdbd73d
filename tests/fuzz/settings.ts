import { afterAll } from 'vitest';
import { byLength } from '#helpers/length';

const { FUZZ_SEED, FUZZ_COUNT } = process.env;

/** Seed of the run. FUZZ_SEED replays a run; without it each run has a new seed. */
export const seed = FUZZ_SEED === undefined ? Date.now() % 2 ** 31 : Number(FUZZ_SEED);

/** Derives one of many seeds from a seed. */
export const seedOf = (ofAll: number, number: number): number =>
  (ofAll + Math.imul(number, 0x9e3779b1)) >>> 0;

const total = Number(FUZZ_COUNT ?? byLength({ short: 10_000, long: 100_000 }));

/** Returns the number of messages for one transport, or for the router, as a part of the total. */
export const share = (of: number): number => Math.round(total * of);

/** Part of the messages that servers send, all of them invalid. Clients send the rest. */
export const ofServers = 0.4;

/** Returns what is needed to replay a failure: the seed and the message, as JSON text. */
export function replay(message?: Buffer | string): string {
  const text =
    message === undefined
      ? ''
      : JSON.stringify(
          (typeof message === 'string' ? message : message.toString('latin1')).slice(0, 4_000),
        );
  return `FUZZ_SEED=${seed} FUZZ_COUNT=${total} ${text}`;
}

/** Uncaught errors of this process, with the seed. In production each of them would stop the hub. */
export const uncaught: string[] = [];
const keep = (error: unknown) =>
  void uncaught.push(`${error instanceof Error ? error.stack : String(error)}\n${replay()}`);
process.on('unhandledRejection', keep).on('uncaughtException', keep);
afterAll(() => void process.off('unhandledRejection', keep).off('uncaughtException', keep));
