import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Functions that stop what still runs when the benchmark exits early. */
const leftovers = new Set<() => void>();
process.on('exit', () => leftovers.forEach(stop => stop()));

export type Child = AsyncDisposable & { readonly pid: number };

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/** Forks a program of the benchmark and waits for its message that it is ready. The program exits with its parent. */
export async function forkReady(file: string, args: readonly string[]): Promise<Child> {
  const child = fork(file, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`${file} exited with ${String(code)}`);
  });
  await Promise.race([once(child, 'message'), exited]);
  exited.catch(() => {});
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await gone(child);
    },
  };
}

/** Runs a program and stops it with SIGTERM, at the latest when the benchmark exits. */
export function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Child {
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const stop = () => void child.kill('SIGTERM');
  leftovers.add(stop);
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      stop();
      await gone(child);
      leftovers.delete(stop);
    },
  };
}

/** Runs a program in its own process group. Disposing sends the signal to the whole group. */
export function runGroup(command: string, args: readonly string[]): Child {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore'], detached: true });
  const { pid = 0 } = child;
  const end = (signal: NodeJS.Signals) => {
    try {
      if (pid > 0) process.kill(-pid, signal);
    } catch {
      // No process of the group is left.
    }
  };
  const stop = () => end('SIGTERM');
  leftovers.add(stop);
  return {
    pid,
    async [Symbol.asyncDispose]() {
      stop();
      const late = setTimeout(() => end('SIGKILL'), killMs);
      await gone(child);
      clearTimeout(late);
      leftovers.delete(stop);
    },
  };
}

const killMs = 5_000;

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
