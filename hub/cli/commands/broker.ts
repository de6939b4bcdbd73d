import { untilAborted } from '#core';
import type { Command } from '../command.ts';

export type BrokerCommandNeeds = {
  /** Resolves when the broker listens. Throws HubError if it cannot. */
  readonly startBroker: (signal: AbortSignal) => Promise<{ stop(): Promise<void> }>;
};

/** `agenthub broker`: runs the broker of the compose file until the signal aborts. */
export function createBrokerCommand({ startBroker }: BrokerCommandNeeds): Command {
  return {
    name: 'broker',
    summary: "Allow only a hub's calls to the Docker engine. Used by docker-compose.yml.",
    options: {},
    async run(_values, { signal }) {
      const broker = await startBroker(signal);
      using ending = untilAborted(signal);
      await ending.aborted;
      await broker.stop();
      return 0;
    },
  };
}
