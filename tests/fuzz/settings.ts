import { afterAll } from 'vitest';
import { byLength } from '#helpers/length';

const { FUZZ_SEED, FUZZ_COUNT } = process.env;

/** FUZZ_SEED replays a run; without it every run is another. */
export const seed = FUZZ_SEED === undefined ? Date.now() % 2 ** 31 : Number(FUZZ_SEED);

/** The seed of one of many that are made from one seed. */
export const seedOf = (ofAll: number, number: number): number =>
  (ofAll + Math.imul(number, 0x9e3779b1)) >>> 0;

const total = Number(FUZZ_COUNT ?? byLength({ short: 20_000, long: 100_000 }));

/** A part of the messages that are sent over each transport, and to the router. */
export const share = (of: number): number => Math.round(total * of);

/** What servers have in that: messages that no server should send. The rest is clients'. */
export const ofServers = 0.4;

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

/** What nobody caught in this process, with what replays it. A hub that lets anything through here would stop. */
export const uncaught: string[] = [];
const keep = (error: unknown) =>
  void uncaught.push(`${error instanceof Error ? error.stack : String(error)}\n${replay()}`);
process.on('unhandledRejection', keep).on('uncaughtException', keep);
afterAll(() => void process.off('unhandledRejection', keep).off('uncaughtException', keep));
