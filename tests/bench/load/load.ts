import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Job, Outcome, Target } from './job.ts';

/** A load generator in a child process. */
export type Load = AsyncDisposable & {
  readonly pid: number;
  run(job: Job): Promise<Outcome>;
  /** Connects the load generator to another target, in a new session. */
  connect(target: Target): Promise<void>;
};

/** Starts a load generator and connects it to its target. */
export async function startLoad(target: Target): Promise<Load> {
  const child = fork(new URL('main.ts', import.meta.url));
  const exited = once(child, 'exit').then(() => {
    throw new Error(`the load generator for ${target.kind} ended`);
  });
  exited.catch(() => {});
  async function ask(order: object): Promise<unknown> {
    const answered = once(child, 'message');
    child.send(order);
    const [answer] = await Promise.race([answered, exited]);
    return answer;
  }
  const connect = async (to: Target) => void (await ask({ target: to }));
  await connect(target);
  return {
    connect,
    pid: child.pid ?? 0,
    async run(job) {
      const outcome = await ask({ job });
      if (!isOutcome(outcome)) throw new TypeError('the load generator gave no outcome');
      return outcome;
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited.catch(() => {});
    },
  };
}

const isOutcome = (value: unknown): value is Outcome =>
  typeof value === 'object' && value !== null && 'p99Ms' in value;
