import type { ServerConfig } from '#config';
import { HubError } from '#core';
import type { Started } from '../handshake/start.ts';
import type { Server } from '../server-types.ts';
import { type InstancePool, type InstancePoolNeeds, createInstancePool } from './instance-pool.ts';
import { next } from './next.ts';
import { type Effect, type LifecycleEvent, type LifecycleState, initialState } from './state.ts';

export type Runner = ReturnType<typeof createRunner>;

type Needs = Omit<InstancePoolNeeds, 'dispatch' | 'report' | 'forgetHandle'> & {
  /** Whether no two instances of a config may run at the same time. Throws HubError. */
  readonly isExclusive: ((config: ServerConfig) => boolean) | undefined;
  readonly host: RunnerHost;
};

/** What the server contributes to the effects. */
export type RunnerHost = {
  /** Launches the config in use, or adopts the instance of an earlier run. */
  readonly launch: (variant: string | undefined, signal: AbortSignal) => Promise<Started>;
  /** Launches a config beside the running instance. */
  readonly launchBeside: (
    config: ServerConfig,
    variant: string | undefined,
    signal: AbortSignal,
  ) => Promise<Started>;
  readonly onStarted: (started: Started) => void;
  readonly useConfig: (config: ServerConfig) => void;
  readonly resetAdmission: () => void;
  readonly forgetHandle: () => Promise<void>;
};

/** Runs one server: performs the effects of its state machine and feeds the results back as events. */
export function createRunner(needs: Needs) {
  const { clock, log, record, host } = needs;
  let state: LifecycleState = initialState;
  const events: LifecycleEvent[] = [];
  let isDispatching = false;
  const { forgetHandle } = host;
  const pool = createInstancePool({ ...needs, forgetHandle, dispatch, report });
  const changes = createConfigQueue(needs, pool, dispatch);
  const perform = createPerformer(needs, { pool, changes, dispatch, ended });

  function dispatch(event: LifecycleEvent): void {
    events.push(event);
    if (isDispatching) return;
    isDispatching = true;
    for (let first = events.shift(); first; first = events.shift())
      try {
        handle(first);
      } catch (error) {
        report(error, first);
      }
    isDispatching = false;
  }

  function handle(event: LifecycleEvent): void {
    const transition = next(state, event, {
      config: record.config,
      audience: record.audience,
      now: clock.now(),
      monotonicMs: clock.monotonic(),
      random: needs.random(),
    });
    state = transition.state;
    for (const effect of transition.effects) perform(effect);
  }

  /** A bug in the runner must show as a failed server, not as one that starts for ever. */
  function report(error: unknown, during?: LifecycleEvent): void {
    log.error({ error: String(error) }, 'the runner of the server failed');
    if (during?.type !== 'broken') dispatch({ type: 'broken', failure: record.failureOf(error) });
  }

  /** Resolves when everything that is ending now has ended. */
  async function ended(): Promise<void> {
    do await pool.over();
    while (state.phase === 'stopping' || state.phase === 'queued');
  }

  return {
    /** The instance that takes calls. */
    get current() {
      return pool.current;
    },
    get restarts() {
      return state.restarts;
    },
    get refusedEntry() {
      return changes.refusedEntry;
    },
    dispatch,
    /** Dispatches a stop or a close, and resolves when everything that ran has ended. */
    async end(event: Extract<LifecycleEvent, { type: 'stop' | 'close' }>): Promise<void> {
      dispatch(event);
      await ended();
    },
    reconfigure: (config: ServerConfig, isReplaced: boolean) =>
      changes.reconfigure(config, isReplaced),
  };
}

/** Applies the config changes of one server one after the other. */
function createConfigQueue(
  { clock, record, isExclusive }: Needs,
  pool: InstancePool,
  dispatch: (event: LifecycleEvent) => void,
) {
  let previous: Promise<unknown> = Promise.resolve();
  let current: PromiseWithResolvers<void> | undefined;
  let refusedEntry: Server['refusedEntry'];

  async function apply(config: ServerConfig, isReplaced: boolean): Promise<void> {
    const isRestarted = isReplaced && config.enabled && pool.current !== undefined;
    try {
      current = Promise.withResolvers();
      dispatch({
        type: 'reconfigure',
        config,
        isReplaced,
        isExclusive: isRestarted && [record.config, config].some(one => isExclusive?.(one)),
      });
      await current.promise;
      refusedEntry = undefined;
    } catch (error) {
      if (error instanceof HubError) {
        const { code, cause, data } = error;
        const { why } = record.failureOf(error);
        refusedEntry = { at: clock.now(), error: new HubError(code, why, { cause, data }) };
      }
      throw error;
    }
  }

  return {
    get refusedEntry() {
      return refusedEntry;
    },
    reconfigure(config: ServerConfig, isReplaced: boolean): Promise<void> {
      const applied = previous.then(() => apply(config, isReplaced));
      previous = applied.catch(() => undefined); // The caller of this change has its error.
      return applied;
    },
    /** Settles the change that is being applied. */
    finish(error: unknown): void {
      if (error === undefined) current?.resolve();
      else current?.reject(error);
    },
  };
}

type PerformerNeeds = {
  readonly pool: InstancePool;
  readonly changes: ReturnType<typeof createConfigQueue>;
  readonly dispatch: (event: LifecycleEvent) => void;
  readonly ended: () => Promise<void>;
};

/** Performs single effects. */
function createPerformer(
  { clock, record, host }: Needs,
  { pool, changes, dispatch, ended }: PerformerNeeds,
): (effect: Effect) => void {
  let cancelling = new AbortController();
  let delay: Disposable | undefined;
  return effect => {
    switch (effect.type) {
      case 'publish':
        return record.publish(effect.status, pool.current?.running);
      case 'launch':
        return pool.launch(host.launch(effect.variant, cancelling.signal));
      case 'launch_beside':
        return pool.launch(host.launchBeside(effect.config, effect.variant, cancelling.signal));
      case 'cancel':
        cancelling.abort();
        cancelling = new AbortController();
        return delay?.[Symbol.dispose]();
      case 'attach':
        pool.attach(effect.instance);
        return pool.current && host.onStarted(pool.current);
      case 'detach':
        return pool.detach();
      case 'stop_instance':
        return pool.stop(effect.instance);
      case 'drain_instance':
        return pool.drain(effect.instance, effect.isReplaced);
      case 'hurry_draining':
        return pool.hurryDraining();
      case 'reap':
        return pool.reap(effect.instance);
      case 'forget_handle': {
        const earlier = effect.afterEnd ? pool.over() : undefined;
        return pool.track(earlier?.then(host.forgetHandle) ?? host.forgetHandle());
      }
      case 'delay':
        delay = clock.after(effect.delayMs, () => dispatch({ type: 'delay_over' }));
        return undefined;
      case 'await_settled':
        return pool.isSettled ? dispatch({ type: 'settled' }) : undefined;
      case 'record_failure':
        return record.recordFailure(effect.error);
      case 'use_config':
        host.useConfig(effect.config);
        return pool.current?.retime();
      case 'reset_admission':
        return host.resetAdmission();
      case 'finish_change':
        if (effect.afterEnd) void ended().then(() => changes.finish(undefined));
        else changes.finish(effect.error);
        return undefined;
    }
  };
}
