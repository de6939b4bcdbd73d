import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { finished } from 'node:stream/promises';
import { type Clock, HubError, waitAtMost } from '#core';
import { createLineChannel } from '#jsonrpc';
import {
  type Exit,
  type Instance,
  type LaunchEvents,
  type LaunchSpec,
  createStderrLines,
} from '#runtimes';
import { createGroup } from './group.ts';
import type { Watcher } from './watcher.ts';

type ProcessSpec = LaunchSpec & { readonly command: string; readonly platform: NodeJS.Platform };

/**
 * Delay in ms after a broken pipe, before it is reported: usually the process exits as well, which is a better reason.
 */
const exitNoticeMs = 200;
/** Grace period in ms for the children of a process that exited by itself. */
const strayGraceMs = 500;
/** Timeout in ms for the rest of the output: a daemon that left the group may hold the pipes open. */
const drainMs = 1000;

export type InstanceNeeds = {
  readonly clock: Clock;
  /**
   * Ends process groups after the hub was killed. Without a watcher, servers only see the end of their input. For
   * POSIX.
   */
  readonly watcher?: Watcher | undefined;
};

export function createInstance(
  child: ChildProcessWithoutNullStreams,
  spec: ProcessSpec,
  events: LaunchEvents,
  { clock, watcher }: InstanceNeeds,
): Instance {
  const { pid } = child;
  // A signal to group 0 would go to the hub's own group.
  if (pid === undefined) throw new HubError('HUB_INTERNAL', `${spec.server} has no process`);
  const { promise: exited, resolve: settle } = Promise.withResolvers<Exit>();
  const group = createGroup(pid, spec.platform, clock);
  const watched = watcher?.watch(pid);
  const line = createLineChannel(spec, {
    write: chunk => void child.stdin.write(chunk),
    waitingBytes: () => child.stdin.writableLength,
    end: () => void child.stdin.end(),
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
  });
  /** Monotonic time at which the group is killed, in ms. Set by `stop`. */
  let killAtMs: number | undefined;
  let stopping: Promise<Exit> | undefined;
  let ended: Exit | undefined;
  /** The pipe that the running process closed first, so that the hub ends the process. */
  let closedPipe: string | undefined;

  const broken = (what: string) => {
    clock.after(exitNoticeMs, () => {
      if (!ended) closedPipe ??= what;
      const reason = ended?.detail ?? `${spec.server} closed its ${what}`;
      line.ended({ reason, error: new Error(reason) });
    });
  };

  child.stdout.on('data', (chunk: Buffer) => line.push(chunk));
  child.stdout.on('end', () => broken('output'));
  // EPIPE if the process has stopped reading. Writing must never throw.
  child.stdin.on('error', () => broken('input'));
  child.stdout.on('error', () => broken('output'));
  // For example, a signal could not be sent. Only the exit matters.
  child.on('error', () => {});
  const stderr = createStderrLines(text => events.stderr(text));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stderr.on('end', () => stderr.end());
  child.stderr.on('error', () => {});

  child.once('exit', (code, signal) => {
    const exit = exitOf(spec.server, code, signal);
    // The signal of the hub does not explain why the process ended.
    const isEnded = closedPipe !== undefined && stopping !== undefined && signal !== null;
    const detail = `the process of ${spec.server} closed its ${closedPipe}, and was ended`;
    ended = isEnded ? { ...exit, detail } : exit;
    void afterExit(ended).then(settle);
  });

  /** Waits for the exit of the children and for the rest of the output. */
  async function afterExit(exit: Exit): Promise<Exit> {
    const graceMs = killAtMs === undefined ? strayGraceMs : killAtMs - clock.monotonic();
    group.terminate();
    await group.gone(Math.max(0, graceMs));
    watched?.[Symbol.dispose]();
    await drained(child, clock);
    child.stdin.destroy();
    const { detail: reason } = exit;
    line.ended(stopping ? { reason } : { reason, error: new Error(reason) });
    return exit;
  }

  async function end(graceMs: number): Promise<Exit> {
    killAtMs = clock.monotonic() + graceMs;
    line.channel.close(`${spec.server} was stopped`);
    // Half of the grace period for servers that exit at the end of their input, half after SIGTERM.
    using _asked = clock.after(graceMs / 2, () => group.terminate());
    using _forced = clock.after(graceMs, () => group.kill());
    return await exited;
  }

  return {
    about: { pid, command: spec.command },
    ...(spec.secretEnv && { secrets: 'environment' }),
    channel: line.channel,
    exited,
    stop: ({ graceMs }) => (stopping ??= end(graceMs)),
    async usage() {
      return undefined;
    },
  };
}

async function drained(child: ChildProcessWithoutNullStreams, clock: Clock): Promise<void> {
  const over = (stream: typeof child.stdout) =>
    finished(stream, { writable: false }).catch(() => undefined); // A broken pipe has ended, too.
  await waitAtMost(drainMs, Promise.all([over(child.stdout), over(child.stderr)]), clock);
  child.stdout.destroy();
  child.stderr.destroy();
}

function exitOf(server: string, exitCode: number | null, signal: string | null): Exit {
  if (signal !== null) return { signal, detail: `the process of ${server} was ended by ${signal}` };
  const code = exitCode ?? 0;
  return { code, detail: `the process of ${server} exited with code ${code}` };
}
