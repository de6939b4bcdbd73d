import type { ServerConfig } from '#config';
import { HubError, messageOf, sleep, untilAborted } from '#core';
import { haltedError, startFailure } from './failures.ts';
import { createLeaving } from './leaving.ts';
import { type Ending, type Life, type LifeNeeds, createLife } from './life.ts';
import { createRestarts } from './restarts.ts';
import type { ServerStatus } from './server.ts';
import { type Started, graceMs, nextVariant } from './start.ts';

/** What takes a server from state to state, one step at a time, as long as somebody wants it to run. */
export interface Loop {
  /** The instance that runs. */
  readonly life: Life | undefined;
  /** Whether it runs, starts, or waits to be started again. */
  readonly isGoing: boolean;
  /** How often it has been started again. */
  readonly restarts: number;
  /** Begins, unless it is going. What still ends is waited for. */
  begin(): void;
  /** Nobody is handed what runs from here on. Resolves when nothing of it is left. */
  end(): Promise<void>;
  /** Begins anew once what runs has answered what it was asked, for which it has a while; new calls wait. */
  renew(): void;
  /** Has the config in force that `config` gives by now, for what runs and for its restarts. */
  configure(): void;
  /**
   * Starts what another config says beside what runs, and has it take its place just after `swapped` was
   * called; the old one ends when it has answered what it was asked. Where the loop is ended meanwhile there
   * is nothing left to keep, and `swapped` is called too. Rejects where the new one does not come up. To be
   * called one at a time, and only where one runs.
   */
  swap(next: ServerConfig, swapped: () => void): Promise<void>;
}

export type LoopNeeds = LifeNeeds & {
  readonly config: () => ServerConfig;
  /** One that a session has for itself is started again by the next call. */
  readonly isOwn: boolean;
  readonly become: (status: ServerStatus) => void;
  /** Starts it, or goes on with what was left running. */
  readonly start: (signal: AbortSignal, variant: string | undefined) => Promise<Started>;
  /** Starts it beside what runs. */
  readonly startBeside: (
    config: ServerConfig,
    signal: AbortSignal,
    variant: string | undefined,
  ) => Promise<Started>;
  /** From here on what was started is the instance that runs. */
  readonly took: (life: Life, started: Started) => void;
  /** There is nothing left to be gone on with. */
  readonly forget: () => Promise<void>;
  /** Why it is gone, with the last that it wrote. */
  readonly gone: (how: string, cause: unknown) => HubError;
  /** The end of what it wrote to stderr. */
  readonly stderr: () => string;
  /** Keeps the error for the operator, and gives its message. */
  readonly failed: (error: unknown) => string;
};

/** How an instance ended that had run. */
type Ended = { readonly error: HubError; readonly isClean: boolean };

/** Not going yet. */
export function createLoop(needs: LoopNeeds): Loop {
  const { clock, config, become, log } = needs;
  const { name } = config();
  const leaving = createLeaving(name, needs);
  let policy = createRestarts(config(), needs);
  let life: Life | undefined;
  /** What the instance that was launched last is told from another by. */
  let variant: string | undefined;
  /** Ends the wait for the end of an instance that another has taken the place of. */
  let replaced = () => {};
  /** Settles when what was started beside has taken its place, or will not. Never rejects. */
  let swapping: Promise<void> | undefined;
  let restarts = 0;
  let current: { readonly end: AbortController; readonly over: Promise<void> } | undefined;

  const isGoing = () => current !== undefined && !current.end.signal.aborted;

  function take(started: Started): Life {
    const next = createLife(config, started, needs);
    life = next;
    variant = started.variant;
    needs.took(next, started);
    become({ state: 'running', since: clock.now() });
    return next;
  }

  /** From here on nobody may be handed the instance that is about to end, or has ended. */
  function letGo(): void {
    life?.letGo();
    life = undefined;
  }

  /** The end of what runs, or of what has taken its place by then; undefined where it is to be stopped. */
  async function endOf(begun: Life, signal: AbortSignal) {
    using stop = untilAborted(signal);
    for (let one = begun; ;) {
      const swapped = Promise.withResolvers<undefined>();
      replaced = () => swapped.resolve(undefined);
      const ending = await Promise.race([one.ended, swapped.promise, stop.aborted]);
      if (!life || life === one) return { one, ending };
      one = life;
    }
  }

  /** Ends an instance because that is wanted. */
  async function halt({ running }: Pick<Started, 'running'>, signal: AbortSignal): Promise<void> {
    const { instance, upstream } = running;
    if (signal.reason === gently) await leaving.drained(upstream);
    upstream.fail(haltedError(name, 'it was stopped'));
    await instance.stop({ graceMs });
    await needs.forget();
  }

  /** Removes what is left of an instance that has ended, or does not answer. */
  async function bury({ running, since }: Life, { died, cause }: Ending): Promise<Ended> {
    const { instance, upstream } = running;
    // It does not run any more, while what is left of it is removed.
    become({ state: 'stopping', since: clock.now(), hasEnded: true });
    const exit = await instance.stop({ graceMs: 0 });
    // What has taken its place meanwhile is what is to be gone on with.
    if (!exit.lost && !life) await needs.forget();
    const error = exit.lost
      ? new HubError('HUB_ENGINE_UNREACHABLE', `${name} is out of reach: ${exit.detail}`, {
          data: { server: name, retryable: true },
        })
      : (exit.refusal ?? needs.gone(died ?? exit.detail, cause));
    upstream.fail(error);
    policy.ran(clock.monotonic() - since);
    return { error, isClean: exit.code === 0 && died === undefined };
  }

  /** Starts it and keeps it until it ends; undefined where it was stopped. */
  async function run(signal: AbortSignal) {
    const started = await needs.start(signal, variant);
    if (signal.aborted) {
      started.subscription?.stop();
      await halt(started, signal);
      return undefined;
    }
    for (let begun = take(started); ;) {
      const { one, ending } = await endOf(begun, signal);
      letGo();
      if (signal.aborted || !ending) {
        await halt(one, signal);
        return undefined;
      }
      const ended = await bury(one, ending);
      if (swapping && !life && !signal.aborted)
        become({ state: 'starting', since: clock.now(), progress: 'another takes its place' });
      await swapping;
      // A stop that came meanwhile says itself how it ends.
      if (signal.aborted) return undefined;
      if (!life) return ended;
      begun = life;
    }
  }

  async function supervise(end: AbortController): Promise<void> {
    const { signal } = end;
    policy = createRestarts(config(), needs);
    while (!signal.aborted) {
      let error: unknown;
      let isClean = false;
      become({ state: 'starting', since: clock.now(), progress: 'launching' });
      try {
        const ended = await run(signal);
        if (!ended) return;
        ({ error, isClean } = ended);
      } catch (caught) {
        if (signal.aborted) return;
        error = startFailure(name, caught, needs.stderr());
      }
      const why = needs.failed(error);
      if (needs.isOwn) {
        become({ state: 'failed', since: clock.now(), why });
        // Whoever asks for it from here on starts another loop.
        end.abort();
        become({ state: 'stopped', byHand: false });
        return;
      }
      const { status, delayMs, counts } = policy.after(error, why, isClean);
      if (delayMs === undefined) end.abort();
      become(status);
      if (delayMs === undefined) return;
      await sleep(delayMs, { clock, signal });
      if (counts) restarts++;
    }
  }

  function begin(): void {
    if (isGoing()) return;
    const end = new AbortController();
    const before = current?.over;
    const over = Promise.withResolvers<void>();
    current = { end, over: over.promise };
    // Who asks for it now waits for the new instance, and is not told that the old one is stopping.
    if (before) become({ state: 'starting', since: clock.now(), progress: 'waiting for its end' });
    void (before ? before.then(() => supervise(end)) : supervise(end))
      .catch((error: unknown) => {
        // A bug in the loop must be seen as a failed server, not as one that starts for ever.
        log.error({ error: String(error) }, 'supervision ended');
        end.abort();
        become({ state: 'failed', since: clock.now(), why: needs.failed(error) });
      })
      .then(() => swapping)
      .then(() => {
        if (current?.end === end) current = undefined;
        over.resolve();
      });
  }

  async function swap(next: ServerConfig, signal: AbortSignal, swapped: () => void): Promise<void> {
    // The one before the last may still have the name.
    await leaving.end();
    try {
      const other = variant === undefined ? nextVariant : undefined;
      const started = await needs.startBeside(next, signal, other);
      if (!signal.aborted) {
        swapped();
        const old = life;
        old?.letGo();
        take(started);
        replaced();
        // One that has ended by itself meanwhile is removed already.
        if (old) leaving.add(old.running);
        return;
      }
      started.subscription?.stop();
      await started.running.instance.stop({ graceMs });
    } catch (error) {
      if (!signal.aborted) throw error;
      log.debug({ error: messageOf(error) }, 'what was to take its place is given up');
    }
    swapped();
  }

  return {
    get life() {
      return life;
    },
    get isGoing() {
      return isGoing();
    },
    get restarts() {
      return restarts;
    },
    begin,
    async end() {
      const ending = current;
      ending?.end.abort();
      letGo();
      await Promise.all([ending?.over, leaving.end()]);
    },
    renew() {
      current?.end.abort(gently);
      letGo();
      begin();
    },
    configure() {
      policy = createRestarts(config(), needs);
      life?.retime();
    },
    swap(next, swapped) {
      const signal = current?.end.signal ?? AbortSignal.abort();
      const done = swap(next, signal, swapped);
      const settled: Promise<void> = done
        .catch(() => undefined)
        .finally(() => {
          if (swapping === settled) swapping = undefined;
        });
      swapping = settled;
      return done;
    },
  };
}

/** Why a loop ends whose server is only started anew: it may answer what it was asked before. */
const gently = 'it is started anew';
