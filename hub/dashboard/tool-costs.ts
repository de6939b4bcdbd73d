import { type Clock, type Log, messageOf, waitAtMost } from '#core';
import type { ToolStates, ToolSwitches } from '#tools';

/** Time in ms that a page waits for the counts of tokens. A part that has none yet gets them with its next update. */
const waitMs = 250;
/** Counts are read again after this time, in ms. */
const freshMs = 5_000;

type Needs = {
  readonly tools: Pick<ToolSwitches, 'list'> | undefined;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Pick<Log, 'info'>;
  /** Called when counts are known that no page has waited for. */
  readonly counted: () => void;
};

/** Switches and token costs of the tools of all servers, for pages that do not wait for them. */
export function createToolCosts({ tools, clock, log, counted }: Needs) {
  let known: ReadonlyMap<string, ToolStates> = new Map();
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    try {
      const states = (await tools?.list()) ?? [];
      known = new Map(states.map(state => [state.server, state]));
      readMs = clock.monotonic();
    } catch (error) {
      log.info({ error: messageOf(error) }, 'the tokens of the tools were not counted');
    } finally {
      reading = undefined;
    }
  }

  return {
    /** The tool states by server. Waits at most 250 ms for new ones, and returns those last known otherwise. */
    async get(): Promise<ReadonlyMap<string, ToolStates>> {
      if (!tools) return known;
      if (!reading && clock.monotonic() - readMs > freshMs) reading = read();
      if (!reading) return known;
      let isLate = false;
      const pending = reading.then(() => isLate && counted());
      await waitAtMost(waitMs, pending, clock);
      isLate = reading !== undefined;
      return known;
    },
    /** Reads them again at the next time, as after a switch. */
    forget(): void {
      readMs = Number.NEGATIVE_INFINITY;
    },
  };
}
