import type { ServerConfig } from '#config';
import { type Clock, HubError } from '#core';
import type { Server } from '../server-types.ts';
import type { ServerRecord } from './server-record.ts';
import type { Event } from './state.ts';

export type ConfigQueueNeeds = {
  readonly clock: Pick<Clock, 'now'>;
  readonly record: Pick<ServerRecord, 'config' | 'failureOf'>;
  readonly isRunning: () => boolean;
  /** Whether no two instances of a config may run at the same time. Throws HubError. */
  readonly isExclusive: ((config: ServerConfig) => boolean) | undefined;
  readonly dispatch: (event: Event) => void;
};

/** Applies the config changes of one server one after the other. */
export function createConfigQueue(needs: ConfigQueueNeeds) {
  const { clock, record } = needs;
  let previous: Promise<unknown> = Promise.resolve();
  let current: PromiseWithResolvers<void> | undefined;
  let refusedEntry: Server['refusedEntry'];

  async function apply(config: ServerConfig, isReplaced: boolean): Promise<void> {
    try {
      const isExclusive =
        isReplaced &&
        config.enabled &&
        needs.isRunning() &&
        [record.config, config].some(one => needs.isExclusive?.(one));
      current = Promise.withResolvers();
      needs.dispatch({ type: 'reconfigure', config, isReplaced, isExclusive });
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
