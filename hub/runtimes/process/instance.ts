import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { finished } from 'node:stream/promises';
import { type Clock, HubError } from '#core';
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

export type ProcessSpec = LaunchSpec & {
  readonly command: string;
  readonly platform: NodeJS.Platform;
};

/** Where a pipe of the process breaks, its exit mostly follows at once and says more. */
const exitNoticeMs = 200;
/** What children of a process that ended unasked have to end as well. */
const strayGraceMs = 500;
/** How long output is read after the end; a daemon that left the group may hold the pipes for ever. */
const drainMs = 1000;

type Needs = {
  readonly clock: Clock;
  /** Undefined where nothing can end it once the hub is gone. */
  readonly watcher: Watcher | undefined;
};

/** A process that has been spawned, as a running server. */
export function createInstance(
  child: ChildProcessWithoutNullStreams,
  spec: ProcessSpec,
  events: LaunchEvents,
  { clock, watcher }: Needs,
): Instance {
  const { pid } = child;
  // Signals to the group of nobody would go to the hub's own.
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
  /** When what is left of the group is killed; set by `stop`. */
  let killAtMs: number | undefined;
  let stopping: Promise<Exit> | undefined;
  let ended: Exit | undefined;

  const broken = (what: string) => {
    clock.after(exitNoticeMs, () => {
      const reason = ended?.detail ?? `${spec.server} closed its ${what}`;
      line.ended({ reason, error: new Error(reason) });
    });
  };

  child.stdout.on('data', (chunk: Buffer) => line.push(chunk));
  child.stdout.on('end', () => broken('output'));
  // A process that does not read any more is seen as EPIPE here. Writing must never throw.
  child.stdin.on('error', () => broken('input'));
  child.stdout.on('error', () => broken('output'));
  // Such as a signal that could not be sent: the exit is what counts.
  child.on('error', () => {});
  const stderr = createStderrLines(text => events.stderr(text));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stderr.on('end', () => stderr.end());
  child.stderr.on('error', () => {});

  child.once('exit', (code, signal) => {
    ended = exitOf(spec.server, code, signal);
    void afterExit(ended).then(settle);
  });

  /** Waits until nothing of the process is left: its children, and what it wrote. */
  async function afterExit(exit: Exit): Promise<Exit> {
    const graceMs = killAtMs === undefined ? strayGraceMs : killAtMs - clock.monotonic();
    group.terminate();
    await group.gone(Math.max(0, graceMs));
    watched?.[Symbol.dispose]();
    await drained(child, clock);
    child.stdin.destroy();
    line.ended(
      stopping ? { reason: exit.detail } : { reason: exit.detail, error: new Error(exit.detail) },
    );
    return exit;
  }

  async function end(graceMs: number): Promise<Exit> {
    killAtMs = clock.monotonic() + graceMs;
    line.channel.close(`${spec.server} was stopped`);
    // Half of the time for a server that ends when its input does, half for one that wants a signal.
    using _asked = clock.after(graceMs / 2, () => group.terminate());
    using _forced = clock.after(graceMs, () => group.kill());
    return await exited;
  }

  return {
    about: { pid, command: spec.command },
    channel: line.channel,
    exited,
    stop: ({ graceMs }) => (stopping ??= end(graceMs)),
    async usage() {
      return undefined;
    },
  };
}

async function drained(child: ChildProcessWithoutNullStreams, clock: Clock): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  using _bound = clock.after(drainMs, resolve);
  const over = (stream: typeof child.stdout) =>
    finished(stream, { writable: false }).catch(() => undefined);
  await Promise.race([Promise.all([over(child.stdout), over(child.stderr)]), late]);
  child.stdout.destroy();
  child.stderr.destroy();
}

function exitOf(server: string, code: number | null, signal: string | null): Exit {
  if (signal !== null) return { signal, detail: `the process of ${server} was ended by ${signal}` };
  return { code: code ?? 0, detail: `the process of ${server} exited with code ${code ?? 0}` };
}
