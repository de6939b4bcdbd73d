import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

export type Child = AsyncDisposable & { readonly pid: number };

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/** Runs a program of the benchmark that says by a message when it is ready, and ends with its parent. */
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

/** Runs a program that ends at SIGTERM, at the latest with the benchmark. */
export function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Child {
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  process.on('exit', () => child.kill('SIGTERM'));
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await gone(child);
    },
  };
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
