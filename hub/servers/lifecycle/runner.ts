import type { ServerConfig } from '#config';
import type { Server } from '../server-types.ts';
import type { Started } from '../handshake/start-types.ts';
import { type ConfigQueueNeeds, createConfigQueue } from './config-queue.ts';
import { type InstancePool, type InstancePoolNeeds, createInstancePool } from './instance-pool.ts';
import { next } from './next.ts';
import { type Operations, createOperations } from './operations.ts';
import type { RunningInstance } from './running-instance.ts';
import { type Effect, type Event, type State, initialState } from './state.ts';

/** Runs one server: performs the effects of its state machine and feeds the results back as events. */
export interface Runner extends Pick<Server, 'reconfigure' | 'refusedEntry' | 'restarts'> {
  /** The instance that takes calls. */
  readonly current: RunningInstance | undefined;
  dispatch(event: Event): void;
  /** Dispatches a stop or a close, and resolves when everything that ran has ended. */
  end(event: Extract<Event, { type: 'stop' | 'close' }>): Promise<void>;
}

export type RunnerNeeds = Omit<InstancePoolNeeds, 'operations' | 'dispatch' | 'forgetHandle'> &
  Pick<ConfigQueueNeeds, 'isExclusive'> & { readonly host: RunnerHost };

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

/** The runner of a server that is stopped. */
export function createRunner(needs: RunnerNeeds): Runner {
  const { clock, log, record, host } = needs;
  let state: State = initialState;
  const events: Event[] = [];
  let isDispatching = false;
  const { forgetHandle } = host;
  const operations = createOperations(() => dispatch({ type: 'settled' }), report);
  const pool = createInstancePool({ ...needs, operations, forgetHandle, dispatch });
  const changes = createConfigQueue({
    ...needs,
    isRunning: () => pool.current !== undefined,
    dispatch,
  });
  const perform = createPerformer(needs, { pool, operations, changes, dispatch, ended });

  function dispatch(event: Event): void {
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

  function handle(event: Event): void {
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
  function report(error: unknown, during?: Event): void {
    log.error({ error: String(error) }, 'the runner of the server failed');
    if (during?.type !== 'broken') dispatch({ type: 'broken', failure: record.failureOf(error) });
  }

  /** Resolves when everything that is ending now has ended. */
  async function ended(): Promise<void> {
    do await operations.over();
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
    async end(event) {
      dispatch(event);
      await ended();
    },
    reconfigure: (config, isReplaced) => changes.reconfigure(config, isReplaced),
  };
}

type PerformerNeeds = {
  readonly pool: InstancePool;
  readonly operations: Operations;
  readonly changes: ReturnType<typeof createConfigQueue>;
  readonly dispatch: (event: Event) => void;
  readonly ended: () => Promise<void>;
};

/** Performs single effects. */
function createPerformer(
  { clock, record, host }: RunnerNeeds,
  { pool, operations, changes, dispatch, ended }: PerformerNeeds,
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
        delay?.[Symbol.dispose]();
        return undefined;
      case 'attach':
        pool.attach(effect.instance);
        if (pool.current) host.onStarted(pool.current);
        return undefined;
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
        const earlier = effect.afterEnd ? operations.over() : undefined;
        return operations.track(earlier?.then(host.forgetHandle) ?? host.forgetHandle());
      }
      case 'delay':
        delay = clock.after(effect.delayMs, () => dispatch({ type: 'delay_over' }));
        return undefined;
      case 'await_settled':
        if (operations.size === 0) dispatch({ type: 'settled' });
        return undefined;
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
