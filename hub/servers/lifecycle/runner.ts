import type { ServerConfig } from '#config';
import { HubError } from '#core';
import type { StartAttempt } from '../handshake/launch-in-era.ts';
import { type StartNeeds, type Started, launchServer, startServer } from '../handshake/start.ts';
import type { PersistedState } from '../persisted-state.ts';
import type { Server } from '../server-types.ts';
import { type InstancePool, type InstancePoolNeeds, createInstancePool } from './instance-pool.ts';
import { next } from './next.ts';
import { type Effect, type LifecycleEvent, type LifecycleState, initialState } from './state.ts';

export type Runner = ReturnType<typeof createRunner>;

type Needs = Pick<InstancePoolNeeds, 'record' | 'isHeard'> & {
  /** Dependencies that all starts share. */
  readonly start: Omit<StartNeeds, 'attempt'>;
  readonly persisted: Pick<PersistedState, 'forgetHandle'>;
  /** Returns true if two instances of a config must not run at the same time. Throws HubError. */
  readonly isExclusive: ((config: ServerConfig) => boolean) | undefined;
  /** Builds or pulls the image of a config. Rejects with HubError. */
  readonly prepare: ((config: ServerConfig, signal: AbortSignal) => Promise<void>) | undefined;
  readonly onStarted: (started: Started) => void;
  readonly useConfig: (config: ServerConfig) => void;
  readonly resetAdmission: () => void;
};

/** Runs one server: performs the effects of its state machine and feeds the results back as events. */
export function createRunner(needs: Needs) {
  const { record, start, persisted } = needs;
  const { clock, random } = start.hub;
  let state: LifecycleState = initialState;
  const events: LifecycleEvent[] = [];
  let isDispatching = false;
  const { forgetHandle } = persisted;
  const shared = { ...start.hub, log: start.log, forgetHandle, dispatch, report };
  const pool = createInstancePool({ ...needs, ...shared });
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
      random: random(),
    });
    state = transition.state;
    for (const effect of transition.effects) perform(effect);
  }

  /** Reports a bug of the runner as a failed server, so that the server does not stay in `starting` forever. */
  function report(error: unknown, during?: LifecycleEvent): void {
    start.log.error({ error: String(error) }, 'the runner of the server failed');
    if (during?.type !== 'broken') dispatch({ type: 'broken', failure: record.failureOf(error) });
  }

  /** Resolves when all instances that are ending now have ended. */
  async function ended(): Promise<void> {
    do await pool.over();
    while (state.phase === 'stopping' || state.phase === 'queued');
  }

  return {
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
    /** Dispatches a stop or a close, and resolves when all instances have ended. */
    async end(event: Extract<LifecycleEvent, { type: 'stop' | 'close' }>): Promise<void> {
      if (event.type === 'close') changes.close();
      dispatch(event);
      await ended();
    },
    reconfigure: (config: ServerConfig, isReplaced: boolean) =>
      changes.reconfigure(config, isReplaced),
  };
}

/** Applies the config changes of one server one after the other. */
function createConfigQueue(
  { record, start, isExclusive, prepare }: Needs,
  pool: InstancePool,
  dispatch: (event: LifecycleEvent) => void,
) {
  let previous: Promise<unknown> = Promise.resolve();
  let current: PromiseWithResolvers<void> | undefined;
  let refusedEntry: Server['refusedEntry'];
  const closing = new AbortController();

  async function apply(config: ServerConfig, isReplaced: boolean): Promise<void> {
    const isRestarted = isReplaced && config.enabled && pool.current !== undefined;
    try {
      const mayNotOverlap = isRestarted && [record.config, config].some(one => isExclusive?.(one));
      // The old instance ends before the new one starts. The new image is made first, so that the pause is short.
      if (mayNotOverlap) await prepare?.(config, closing.signal);
      current = Promise.withResolvers();
      dispatch({ type: 'reconfigure', config, isReplaced, isExclusive: mayNotOverlap });
      await current.promise;
      refusedEntry = undefined;
    } catch (error) {
      if (error instanceof HubError) {
        const { code, cause, data } = error;
        const { why } = record.failureOf(error);
        const at = start.hub.clock.now();
        refusedEntry = { at, error: new HubError(code, why, { cause, data }) };
      }
      throw error;
    }
  }

  return {
    get refusedEntry() {
      return refusedEntry;
    },
    /** Cancels the preparation of an image that is running. */
    close: () => closing.abort(),
    reconfigure(config: ServerConfig, isReplaced: boolean): Promise<void> {
      const applied = previous.then(() => apply(config, isReplaced));
      previous = applied.catch(() => undefined); // The caller of `reconfigure` gets the error.
      return applied;
    },
    /** Settles the promise of the config change that is being applied. */
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

function createPerformer(
  { record, start, persisted, onStarted, useConfig, resetAdmission }: Needs,
  { pool, changes, dispatch, ended }: PerformerNeeds,
): (effect: Effect) => void {
  let cancelling = new AbortController();
  let delay: Disposable | undefined;
  const launchOf = ({ variant, config = record.config }: Partial<StartAttempt>): StartNeeds => ({
    ...start,
    attempt: { config, variant, signal: cancelling.signal },
  });
  return effect => {
    switch (effect.type) {
      case 'publish':
        return record.publish(effect.status, pool.current?.running);
      case 'launch':
        return pool.launch(startServer(launchOf(effect)));
      case 'launch_beside':
        return pool.launch(launchServer({ ...launchOf(effect), launching() {} }));
      case 'cancel':
        cancelling.abort();
        cancelling = new AbortController();
        return delay?.[Symbol.dispose]();
      case 'attach':
        pool.attach(effect.instance);
        return pool.current && onStarted(pool.current);
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
        return pool.track(earlier?.then(persisted.forgetHandle) ?? persisted.forgetHandle());
      }
      case 'delay':
        delay = start.hub.clock.after(effect.delayMs, () => dispatch({ type: 'delay_over' }));
        return undefined;
      case 'await_settled':
        return pool.isSettled ? dispatch({ type: 'settled' }) : undefined;
      case 'record_failure':
        return record.recordFailure(effect.error);
      case 'use_config':
        useConfig(effect.config);
        return pool.current?.retime();
      case 'reset_admission':
        return resetAdmission();
      case 'finish_change':
        if (effect.afterEnd) void ended().then(() => changes.finish(undefined));
        else changes.finish(effect.error);
        return undefined;
    }
  };
}
