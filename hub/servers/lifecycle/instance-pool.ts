import type { Clock, Log } from '#core';
import { startFailure } from '../failures.ts';
import type { Started } from '../handshake/start-types.ts';
import type { InstanceEnds } from './end-instance.ts';
import type { Operations } from './operations.ts';
import { type RunningInstance, watchInstance } from './running-instance.ts';
import type { ServerRecord } from './server-record.ts';
import type { Event, InstanceId } from './state.ts';

export type InstancePool = ReturnType<typeof createInstancePool>;

export type InstancePoolNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly hubVersion: string;
  readonly record: ServerRecord;
  readonly operations: Operations;
  readonly ends: InstanceEnds;
  /** Whether a client listens to notifications of the server. */
  readonly isHeard: () => boolean;
  readonly forgetHandle: () => Promise<void>;
  readonly dispatch: (event: Event) => void;
};

/** The instances of one server, by the ids that its state machine knows. */
export function createInstancePool(needs: InstancePoolNeeds) {
  const { clock, log, record, operations, ends, dispatch } = needs;
  const instances = new Map<InstanceId, Started | RunningInstance>();
  let lastId: InstanceId = 0;
  let current: RunningInstance | undefined;
  /** Replaced instances that still answer calls. */
  const draining = new Set<Promise<void>>();

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
      const error = startFailure(record.config.name, caught, record.stderr.text());
      dispatch({ type: 'start_failed', failure: record.failureOf(error) });
      return;
    }
    instances.set(++lastId, started);
    dispatch({ type: 'started', instance: lastId, variant: started.variant });
  }

  async function stop(id: InstanceId): Promise<void> {
    const { running, subscription } = take(id);
    subscription?.stop();
    await ends.stop(running, 'it was stopped');
    await needs.forgetHandle();
  }

  async function reap(id: InstanceId): Promise<void> {
    const instance = take(id);
    if (!('ended' in instance)) throw new TypeError(`instance ${id} was never attached`);
    const { error, isClean, isLost } = await ends.reap(instance.running, await instance.ended);
    const ranMs = clock.monotonic() - instance.sinceMs;
    dispatch({ type: 'reaped', failure: record.failureOf(error, isClean), ranMs, isLost });
  }

  return {
    /** The instance that takes calls. */
    get current() {
      return current;
    },
    /** Reports a launch as `started` or `start_failed`. */
    launch: (launching: Promise<Started>) => operations.track(reportLaunch(launching)),
    attach(id: InstanceId): void {
      current = watchInstance(() => record.config, take(id), {
        ...needs,
        idle() {
          log.info({}, 'stopped after "idle_stop" without work; the next call starts it again');
          dispatch({ type: 'idle' });
        },
      });
      instances.set(id, current);
      void current.ended.then(() => dispatch({ type: 'ended', instance: id }));
    },
    detach(): void {
      current?.detach();
      current = undefined;
    },
    stop: (id: InstanceId) => operations.track(stop(id)),
    drain(id: InstanceId, isReplaced: boolean): void {
      const { running } = take(id);
      if (!isReplaced) {
        operations.track(ends.drain(running, 'it was stopped').then(() => needs.forgetHandle()));
        return;
      }
      const over = ends
        .drain(running, 'it was replaced because its config changed')
        .finally(() => draining.delete(over));
      draining.add(over);
    },
    hurryDraining(): void {
      ends.hurry();
      for (const over of draining) operations.track(over);
    },
    reap: (id: InstanceId) => operations.track(reap(id)),
  };
}
