import { HubError } from '#core';
import type { LaunchEvents } from '#runtimes';
import { cancelledError, failureAt, stoppingError } from '../failure.ts';
import type { InstallProgress, InstallStep } from '../request.ts';
import { createSteps } from '../steps.ts';

/** How the change of a version reports its steps, and the signal that ends it. */
export type Work = {
  readonly begin: (step: InstallStep, text: string) => void;
  readonly events: LaunchEvents;
  readonly signal: AbortSignal;
};

/** Maximum number of concurrent changes. Each builds an image and starts a server, so more would slow down all. */
const maxAtOnce = 4;

/** Creates the turns, which run one change of a server's version at a time. */
export function createTurns() {
  const ending = new AbortController();
  const underway = new Map<string, Promise<unknown>>();

  return {
    /** Runs the change of a server. Rejects with HUB_CONFIG_CONFLICT, HUB_INSTALLS_FULL or HUB_SHUTTING_DOWN. */
    async take<T>(
      name: string,
      tell: (progress: InstallProgress) => void,
      caller: AbortSignal,
      work: (work: Work) => Promise<T>,
    ): Promise<T> {
      if (ending.signal.aborted) throw stopping(name);
      if (underway.has(name)) throw busy(name);
      if (underway.size >= maxAtOnce) throw full();
      const signal = AbortSignal.any([caller, ending.signal]);
      const steps = createSteps('resolve', tell, signal);
      const working = work({ begin: steps.begin, events: steps.events, signal });
      underway.set(name, working);
      try {
        return await working;
      } catch (error) {
        if (ending.signal.aborted) throw stopping(name);
        if (caller.aborted) throw cancelledError(name, 'upgraded', caller.reason);
        throw failureAt(steps.step, error, steps.output, { isNetworkless: false });
      } finally {
        underway.delete(name);
      }
    },
    async stop(): Promise<void> {
      ending.abort();
      await Promise.allSettled(underway.values());
    },
  };
}

const full = () =>
  new HubError(
    'HUB_INSTALLS_FULL',
    `${maxAtOnce} servers are being upgraded already. Try again when one of them is done`,
    { data: { retryable: true } },
  );

const stopping = (name: string) => stoppingError(name, 'upgraded');

const busy = (name: string) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `the version of ${name} is being changed by another request`,
    {
      data: { server: name, retryable: true },
    },
  );
