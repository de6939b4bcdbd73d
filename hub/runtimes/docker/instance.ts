import { type Clock, type HubError, type Log, DeadlineExceeded, messageOf, within } from '#core';
import type { Exit, Instance, LaunchEvents } from '#runtimes';
import type { Attachment } from './attach.ts';
import type { Engine } from './engine.ts';
import { isUnheard } from './engine-error.ts';
import type { EngineEvents } from './events.ts';
import { exitOf } from './exit.ts';
import { usageOf } from './stats.ts';

type Needs = {
  readonly engine: Pick<Engine, 'findContainer' | 'waitForContainer' | 'stopContainer' | 'stats'>;
  readonly events: EngineEvents;
  readonly clock: Clock;
  readonly log: Log;
  readonly report: LaunchEvents;
};

type Running = {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly imageId: string;
  readonly memoryBytes: number;
  readonly attachment: Attachment;
  /** Begins to watch its volumes, and calls back with why it must end. Absent where it has none. */
  readonly watchVolumes?: (exceeded: (why: HubError) => void) => Disposable;
  /**
   * Removes all that was made for it, or leaves it where it may still run: `isLost`. That is not known where
   * the engine could not be asked: `isUnheard`. Must not throw.
   */
  readonly release: (end: {
    readonly isLost: boolean;
    readonly isUnheard: boolean;
  }) => Promise<void>;
};

/** How long what a container wrote last may take to come through after it has ended. */
const drainMs = 1_000;
/** How long a container may take to end after its output has. */
const endingMs = 2_000;
/** How long the engine may take to tell how a container is: calls to its server fail with the answer. */
const inspectMs = 5_000;

/**
 * A container from just before its start to its removal. Call it before the start, so that no event
 * of a container that ends at once is missed.
 */
export function createInstance(running: Running, needs: Needs): Instance {
  const { id, name, attachment } = running;
  const { engine, clock, log } = needs;
  /** The container may have ended; the engine knows whether it has. */
  const suspected = Promise.withResolvers<void>();
  let wasShort = false;
  let broken: Error | undefined;
  let stopping: Promise<Exit> | undefined;
  /** It may still run, and be taken back: it is not to be stopped any more by whoever has lost it. */
  let isLost = false;
  /** Why the engine could not be asked to stop it, or not how it ended. */
  let unheard: unknown;
  /** Why it was ended by the hub itself. */
  let refusal: HubError | undefined;
  /** The engine's part of stopping: settles when the container has ended, within the grace. */
  let halting: Promise<void> | undefined;

  const watch = needs.events.watch(id, event => {
    if (event === 'die') suspected.resolve();
    else if (event === 'oom') reportShortage();
    else void recheck();
  });
  void attachment.over.then(error => {
    broken = error;
    suspected.resolve();
  });
  const exited = conclude();
  const volumes = running.watchVolumes?.(why => {
    log.warn({ container: name }, why.message);
    refusal = why;
    void (stopping ??= stop(0));
  });

  /** A child may be killed for want of memory while the server goes on. */
  function reportShortage(): void {
    wasShort = true;
    const limit = `${Math.round(running.memoryBytes / 2 ** 20)} MiB`;
    log.warn({ container: name, limit }, 'out of memory: the kernel killed a process in it');
    needs.report.progress(`out of memory (limit ${limit}): the kernel killed a process in it`);
  }

  /** Events may have been missed. The engine's silence is for the attached stream to tell of. */
  async function recheck(): Promise<void> {
    const found = await engine.findContainer(id).catch(() => 'unknown' as const);
    if (found === undefined || (found !== 'unknown' && !found.state.isRunning)) suspected.resolve();
  }

  async function conclude(): Promise<Exit> {
    await suspected.promise;
    const found = await findExit();
    const exit = refusal ? { ...found, detail: refusal.message, refusal } : found;
    isLost = exit.lost === true;
    attachment.end({ reason: exit.detail });
    watch[Symbol.dispose]();
    volumes?.[Symbol.dispose]();
    await running.release({ isLost, isUnheard: unheard !== undefined });
    return exit;
  }

  /** An engine that has just been silent is not waited for once more. */
  async function look() {
    if (unheard !== undefined) throw unheard;
    return await engine.findContainer(id, { timeoutMs: inspectMs });
  }

  /** Asks the engine how it ended. A stream that is over is no proof that the container is. */
  async function findExit(): Promise<Exit> {
    try {
      let found = await look();
      if (found?.state.isRunning) {
        if (!halting) await engine.waitForContainer(id, endingMs).catch(() => undefined);
        // One that is being stopped has its grace, also where it closes its output before it ends.
        await halting;
        found = await look();
      }
      if (!found) return { detail: `its container ${name} was removed by someone else` };
      if (found.state.isRunning)
        return {
          lost: !stopping,
          detail: `the connection to it ended (${broken ? messageOf(broken) : 'closed'}) while it was running`,
        };
      await within(drainMs, { clock }, () => attachment.over).catch(ignoreDeadline);
      const { exitCode, oomKilled } = found.state;
      const { memoryBytes } = running;
      return exitOf({ exitCode, oomKilled: oomKilled || wasShort, memoryBytes });
    } catch (error) {
      // Whether it still runs is known when the engine is back.
      unheard = error;
      return { lost: true, detail: `lost: ${messageOf(error)}` };
    }
  }

  async function halt(graceMs: number): Promise<void> {
    try {
      await engine.stopContainer(id, Math.ceil(graceMs / 1000));
    } catch (error) {
      // It had ended already, or the engine is away; removal is forced in either case.
      if (isUnheard(error)) unheard = error;
      log.debug({ container: name, problem: messageOf(error) }, 'the engine did not stop it');
    }
  }

  async function stop(graceMs: number): Promise<Exit> {
    attachment.channel.close('stopped');
    await (halting = halt(graceMs));
    suspected.resolve();
    return await exited;
  }

  return {
    about: { containerId: id.slice(0, 12), containerName: name, image: running.image },
    identity: running.imageId,
    channel: attachment.channel,
    async handle() {
      const found = await engine.findContainer(id);
      return `${id} ${found?.state.startedAt ?? ''}`;
    },
    exited,
    stop: ({ graceMs }) => (isLost ? exited : (stopping ??= stop(graceMs))),
    async usage() {
      try {
        return usageOf(await engine.stats(id));
      } catch (error) {
        log.debug({ container: name, problem: messageOf(error) }, 'no statistics');
        return undefined;
      }
    },
  };
}

/** A container and which of its runs: one that was started again knows nothing of its session. */
export function readHandle(handle: string): { readonly id: string; readonly startedAt: string } {
  const [id = '', startedAt = ''] = handle.split(' ');
  return { id, startedAt };
}

function ignoreDeadline(error: unknown): void {
  if (!(error instanceof DeadlineExceeded)) throw error;
}
