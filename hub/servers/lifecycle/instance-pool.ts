import { type Clock, HubError, waitAtMost } from '#core';
import type { Instance } from '#runtimes';
import type { Upstream } from '#upstream';
import { haltedError, loginErrorOf, startFailure } from '../failures.ts';
import { needAnswer } from '../handshake/handshake.ts';
import { type Started, graceMs } from '../handshake/start.ts';
import type { Running, ServerNeeds } from '../server-types.ts';
import { watchHealth } from './health.ts';
import { watchIdle } from './idle.ts';
import type { ServerRecord } from './server-record.ts';
import type { InstanceId, LifecycleEvent } from './state.ts';

/** Maximum time for a replaced or stopped instance to answer its pending requests, in ms. */
const drainMs = 30_000;
/** Interval at which a draining instance is checked for pending requests, in ms. */
const drainCheckMs = 50;
/** Maximum wait from the end of stdout to the exit, in ms, so that errors can name the exit code. */
const exitNoticeMs = 1_000;

/** How an instance ended: the error of its channel, if any, or why the hub considers it unresponsive. */
type Ending = { readonly cause?: Error | undefined; readonly unresponsive?: string };

/** An attached instance of a server, watched until it is detached. */
type RunningInstance = ReturnType<typeof watchInstance>;

export type InstancePool = ReturnType<typeof createInstancePool>;

export type InstancePoolNeeds = Pick<ServerNeeds, 'clock' | 'log' | 'random' | 'hubVersion'> & {
  readonly record: ServerRecord;
  readonly isHeard: () => boolean;
  readonly forgetHandle: () => Promise<void>;
  readonly dispatch: (event: LifecycleEvent) => void;
  /** Reports the rejection of an operation, which is a bug. */
  readonly report: (error: unknown) => void;
};

/** Creates the pool of a server's instances, by id. Only the pool ends them and fails their pending requests. */
export function createInstancePool(needs: InstancePoolNeeds) {
  const { clock, record, dispatch } = needs;
  const { name } = record.config;
  const instances = new Map<InstanceId, Started | RunningInstance>();
  let lastId: InstanceId = 0;
  let current: RunningInstance | undefined;
  /** Launches, stops and cleanups that are running. */
  const operations = new Set<Promise<void>>();
  /** Replaced instances that are still answering calls. */
  const draining = new Set<Promise<void>>();
  let hurry = new AbortController();

  /** Tracks an operation until it is over. Dispatches `settled` when the last one is over. */
  function track(work: Promise<unknown>): void {
    const operation = work.catch(needs.report).then(() => {
      operations.delete(operation);
      if (operations.size === 0) dispatch({ type: 'settled' });
    });
    operations.add(operation);
  }

  function take(id: InstanceId): Started | RunningInstance {
    const instance = instances.get(id);
    if (!instance) throw new TypeError(`instance ${id} has ended already`);
    instances.delete(id);
    return instance;
  }

  async function reportLaunch(launching: Promise<Started>): Promise<void> {
    let started: Started;
    try {
      started = await launching;
    } catch (caught) {
      const error = startFailure(name, caught, record.stderr.text());
      dispatch({ type: 'start_failed', failure: record.failureOf(error) });
      return;
    }
    instances.set(++lastId, started);
    const { startedAt } = started.running.instance;
    dispatch({
      type: 'started',
      instance: lastId,
      variant: started.variant,
      ...(startedAt !== undefined && { startedAt }),
    });
  }

  async function end({ instance, upstream }: Running, reason: string): Promise<void> {
    upstream.fail(haltedError(name, reason, record.refusal()));
    await instance.stop({ graceMs });
  }

  async function stop(id: InstanceId): Promise<void> {
    const { running, subscription } = take(id);
    subscription?.stop();
    await end(running, 'it was stopped');
    await needs.forgetHandle();
  }

  /** Stops an instance once its pending requests are answered, at the latest after the drain timeout. */
  async function drain(running: Running, reason: string): Promise<void> {
    const { signal } = hurry;
    const deadlineMs = clock.monotonic() + drainMs;
    const drained = Promise.withResolvers<void>();
    const check = () => {
      const isOver = running.upstream.inFlight() === 0 || clock.monotonic() >= deadlineMs;
      if (isOver || signal.aborted) drained.resolve();
      else clock.after(drainCheckMs, check);
    };
    check();
    await drained.promise;
    await end(running, reason);
  }

  /** Removes an instance that has ended, does not respond, or cannot be reached (`lost`). */
  async function reap(id: InstanceId): Promise<void> {
    const taken = take(id);
    if (!('ended' in taken)) throw new TypeError(`instance ${id} was never attached`);
    const { instance, upstream } = taken.running;
    const { unresponsive, cause } = await taken.ended;
    const exit = await instance.stop({ graceMs: 0 });
    const error = exit.lost
      ? new HubError('HUB_ENGINE_UNREACHABLE', `${name} is out of reach: ${exit.detail}`, {
          data: { server: name, retryable: true },
        })
      : (exit.refusal ?? loginErrorOf(cause) ?? record.gone(unresponsive ?? exit.detail, cause));
    upstream.fail(error);
    const isClean = exit.code === 0 && unresponsive === undefined;
    const failure = record.failureOf(error, isClean);
    const ranMs = clock.monotonic() - taken.sinceMs;
    dispatch({ type: 'reaped', failure, ranMs, isLost: exit.lost === true });
  }

  return {
    get current() {
      return current;
    },
    get isSettled() {
      return operations.size === 0;
    },
    track,
    /** Resolves when all operations that are running now are over. */
    over: () => Promise.all(operations),
    /** Tracks a launch, and dispatches its result as `started` or `start_failed`. */
    launch: (launching: Promise<Started>) => track(reportLaunch(launching)),
    attach(id: InstanceId): void {
      current = watchInstance(take(id), needs);
      instances.set(id, current);
      void current.ended.then(() => dispatch({ type: 'ended', instance: id }));
    },
    detach(): void {
      current?.detach();
      current = undefined;
    },
    stop: (id: InstanceId) => track(stop(id)),
    drain(id: InstanceId, isReplaced: boolean): void {
      const { running } = take(id);
      if (!isReplaced) return track(drain(running, 'it was stopped').then(needs.forgetHandle));
      const reason = 'it was replaced because its config changed';
      const over = drain(running, reason).finally(() => draining.delete(over));
      draining.add(over);
    },
    hurryDraining(): void {
      hurry.abort();
      hurry = new AbortController();
      for (const over of draining) track(over);
    },
    reap: (id: InstanceId) => track(reap(id)),
  };
}

/** Fails the pending requests once the channel has closed. `gone` creates the error that says how the server exited. */
export async function failOnClose(
  { channel, exited }: Instance,
  upstream: Upstream,
  clock: Clock,
  gone: (how: string, cause: unknown) => HubError,
): Promise<void> {
  const { reason, error } = await channel.closed;
  const exit = await waitAtMost(exitNoticeMs, exited, clock);
  upstream.fail(loginErrorOf(error) ?? gone(exit?.detail ?? reason, error));
}

/** Watches the health, the idle time and the end of an instance until it is detached. */
function watchInstance(started: Started, needs: InstancePoolNeeds) {
  const { record, clock } = needs;
  const { instance, upstream } = started.running;
  const unresponsive = Promise.withResolvers<string>();
  const healthWatch = watchHealth(
    { intervalMs: () => record.config.healthCheckIntervalMs },
    {
      ...needs,
      ask: timeoutMs => needAnswer(started.running, needs.hubVersion, timeoutMs),
      isAtWork: () => upstream.isAtWork(),
      dead: unresponsive.resolve,
    },
  );
  const idleWatch = watchIdle(() => record.config, {
    clock,
    calls: () => upstream.relayed(),
    isBusy: () => upstream.onlyCaller() !== 'none' || needs.isHeard(),
    idle() {
      needs.log.info({}, 'stopped after "idle_stop" without work; the next call starts it again');
      needs.dispatch({ type: 'idle' });
    },
  });
  return {
    ...started,
    /** Time of the start on the monotonic clock, in milliseconds. */
    sinceMs: clock.monotonic(),
    get health() {
      return healthWatch.health;
    },
    /** Resolves when the instance has ended or does not respond. Never rejects. */
    ended: Promise.race<Ending>([
      instance.exited.then(() => ({})),
      instance.channel.closed.then(({ error }) => ({ cause: error })),
      unresponsive.promise.then(why => ({ unresponsive: why })),
    ]),
    retime(): void {
      healthWatch.retime();
      idleWatch.retime();
    },
    detach(): void {
      healthWatch[Symbol.dispose]();
      idleWatch[Symbol.dispose]();
      started.subscription?.stop();
    },
  };
}
