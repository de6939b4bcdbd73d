import { type Clock, type HubError, type Log, messageOf, within } from '#core';
import type { DockerTarget, Exit, Instance, LaunchEvents, LaunchSpec } from '#runtimes';
import type { Engine } from '../engine/engine.ts';
import { isUnheard } from '../engine/errors.ts';
import type { EngineEvents } from '../engine/events.ts';
import type { Tidying } from '../leftovers/tidying.ts';
import type { VolumeBound } from '../volumes/bound.ts';
import type { Attachment } from './attach.ts';
import { type ContainerOwner, shortId } from './labels.ts';
import type { Names } from './names.ts';
import { type Image, nameOf, networkNameOf } from './options.ts';

type Needs = {
  readonly engine: Pick<Engine, 'findContainer' | 'waitForContainer' | 'stopContainer' | 'usage'>;
  readonly events: Pick<EngineEvents, 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly owner: ContainerOwner;
  /** All instances that have not exited. */
  readonly instances: Set<Instance>;
  readonly names: Pick<Names, 'leave'>;
  readonly tidying: Pick<Tidying, 'owe'>;
  readonly volumeBound: Pick<VolumeBound, 'watch'>;
};

/** A created container, from which an instance is made. */
type CreatedContainer = {
  readonly id: string;
  readonly image: Pick<Image, 'id' | 'reference'>;
  readonly spec: LaunchSpec;
  /** The target of the launch spec, including the volumes that the image declares. */
  readonly target: Pick<DockerTarget, 'limits' | 'volumes'>;
  readonly attachment: Attachment;
  readonly secrets?: Instance['secrets'];
  /** Time when an adopted container was started, in ms since 1970. */
  readonly startedAt?: number;
  /** Resolves when the launch has succeeded, with a disposable that removes all objects created for the container. */
  readonly created: Promise<AsyncDisposable>;
};

/** Timeout in ms for the rest of the output after the exit. */
const drainMs = 1_000;
/** Timeout in ms for the exit after the end of the output. */
const endingMs = 2_000;
/** Timeout in ms for inspecting a container. Pending calls of the server fail only after it. */
const inspectMs = 5_000;

/**
 * Supervises a container until it exits, then removes it, unless it may still be running. Must be called before the
 * container is started: otherwise the events of a container that exits immediately are missed.
 */
export function createInstance(
  { id, image, spec, target, attachment, created, secrets, ...adopted }: CreatedContainer,
  report: LaunchEvents,
  needs: Needs,
): Instance {
  const { engine, clock, log, instances } = needs;
  const name = nameOf(needs.owner, spec);
  const { memoryBytes } = target.limits;
  /** Resolves when the container may have exited. */
  const suspected = Promise.withResolvers<void>();
  let wasShort = false;
  let broken: Error | undefined;
  let stopping: Promise<Exit> | undefined;
  /** True if the container may still be running and may be adopted, so that it must not be stopped. */
  let isLost = false;
  /** Error of a call that the engine did not answer. */
  let unheard: unknown;
  /** Why the hub stopped the container. */
  let refusal: HubError | undefined;
  /** The stop call. Resolves when the container has exited, or when the call failed. */
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
  const volumes =
    target.volumes.length === 0
      ? undefined
      : needs.volumeBound.watch(spec, target, why => {
          log.warn({ container: name }, why.message);
          refusal = why;
          void (stopping ??= stop(0));
        });

  const findStart = async () => (await engine.findContainer(id))?.state.startedAt;
  /**
   * Start time, queried while the server boots, so that its handle is known once it answers. Undefined if the engine
   * did not tell it.
   */
  const startedAt =
    spec.digest === undefined ? undefined : created.then(findStart).catch(() => undefined); // `handle` asks again.

  /** Reports that the container ran out of memory. The kernel may kill a child process while the server continues. */
  function reportShortage(): void {
    wasShort = true;
    const limit = `${Math.round(memoryBytes / 2 ** 20)} MiB`;
    log.warn(
      { container: name, limit },
      'out of memory: the kernel killed a process in the container',
    );
    report.progress(`out of memory (limit ${limit}): the kernel killed a process in it`);
  }

  /**
   * Checks if the container still runs, after events may have been missed. If the engine does not answer, the attached
   * stream ends.
   */
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
    await release();
    return exit;
  }

  /**
   * Removes everything that was created for the container, later if it may be adopted or if the engine does not answer.
   */
  async function release(): Promise<void> {
    const made = await created;
    instances.delete(instance);
    const isAdoptable = isLost && spec.digest !== undefined;
    if (unheard === undefined && !isAdoptable) return await made[Symbol.asyncDispose]();
    needs.names.leave(name, networkNameOf(needs.owner, spec));
    needs.tidying.owe();
  }

  /** Inspects the container. Fails immediately if the engine has not answered an earlier call. */
  async function look() {
    if (unheard !== undefined) throw unheard;
    return await engine.findContainer(id, { timeoutMs: inspectMs });
  }

  /** Asks the engine for the exit state. The container may still be running although its stream has ended. */
  async function findExit(): Promise<Exit> {
    try {
      let found = await look();
      if (found?.state.isRunning) {
        if (!halting) await engine.waitForContainer(id, endingMs).catch(() => undefined); // The state is queried below.
        // A server that is being stopped may close its output first, and still has its grace period.
        await halting;
        found = await look();
      }
      if (!found) return { detail: `its container ${name} was removed by someone else` };
      if (found.state.isRunning)
        return {
          lost: !stopping,
          detail: `the connection to it ended (${broken ? messageOf(broken) : 'closed'}) while it was running`,
        };
      await within(drainMs, { clock }, () => attachment.over).catch(() => undefined); // The rest of the output is late.
      const { exitCode, oomKilled } = found.state;
      return exitOf(exitCode, { oomKilled: oomKilled || wasShort, memoryBytes });
    } catch (error) {
      // The state of the container is unknown until the engine answers again.
      unheard = error;
      return { lost: true, detail: `lost: ${messageOf(error)}` };
    }
  }

  async function halt(graceMs: number): Promise<void> {
    try {
      await engine.stopContainer(id, Math.ceil(graceMs / 1000));
    } catch (error) {
      // The container has already exited, or the engine does not answer. The removal kills it in both cases.
      if (isUnheard(error)) unheard = error;
      const fields = { container: name, problem: messageOf(error) };
      log.debug(fields, 'the engine did not stop the container');
    }
  }

  async function stop(graceMs: number): Promise<Exit> {
    attachment.channel.close('stopped');
    await (halting = halt(graceMs));
    suspected.resolve();
    return await exited;
  }

  const instance: Instance = {
    about: { containerId: shortId(id), containerName: name, image: image.reference },
    identity: image.id,
    ...(secrets && { secrets }),
    ...adopted,
    channel: attachment.channel,
    /** Returns the container id and its start time: a container that was restarted has lost its MCP session. */
    async handle() {
      return `${id} ${(await startedAt) ?? (await findStart()) ?? ''}`;
    },
    exited,
    stop: ({ graceMs }) => (isLost ? exited : (stopping ??= stop(graceMs))),
    async usage() {
      try {
        return await engine.usage(id);
      } catch (error) {
        log.debug({ container: name, problem: messageOf(error) }, 'no statistics');
        return undefined;
      }
    },
  };
  instances.add(instance);
  return instance;
}

/** Exit codes of a shell, and of docker-init, for a command that could not run. */
const meanings: Readonly<Record<number, string>> = {
  126: 'its command cannot be executed',
  127: 'its command is not in the image, or cannot be run there',
};

/** Names of Linux signals by number. The hub may run on another system than its containers. */
const signals: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
};

/** Describes an exit. `oomKilled`: the kernel killed a process, not necessarily the first, because memory ran out. */
export function exitOf(
  code: number,
  { oomKilled, memoryBytes }: { readonly oomKilled: boolean; readonly memoryBytes: number },
): Exit {
  // docker-init and the engine report a signal as 128 plus its number.
  const signal = signals[code - 128];
  const limit = `${Math.round(memoryBytes / 2 ** 20)} MiB`;
  if (oomKilled && signal === 'SIGKILL')
    return { code, signal, outOfMemory: true, detail: `killed: out of memory (limit ${limit})` };
  const after = oomKilled
    ? `, after a process of it was killed: out of memory (limit ${limit})`
    : '';
  if (signal !== undefined) return { code, signal, detail: `ended by ${signal}${after}` };
  const meaning = meanings[code] ? `: ${meanings[code]}` : '';
  return { code, detail: `exited with code ${code}${meaning}${after}` };
}
