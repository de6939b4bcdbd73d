import { type Clock, type Log, messageOf, waitAtMost } from '#core';
import type { ToolStates, ToolSwitches } from '#tools';

/**
 * Time in ms that a page waits for token counts. A part that is shown without counts gets them with its next update.
 */
const waitMs = 250;
/** Time in ms after which counts are read again. */
const freshMs = 5_000;

type Needs = {
  readonly tools: Pick<ToolSwitches, 'list'> | undefined;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly log: Pick<Log, 'info'>;
  /** Called when counts are known too late for a page that waited for them. */
  readonly counted: () => void;
};

/** Caches switches and token costs of the tools of all servers, so that pages need not wait for them. */
export function createToolCosts({ tools, clock, log, counted }: Needs) {
  let known: ReadonlyMap<string, ToolStates> = new Map();
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  /** Number of calls of `forget`. A reading that began before the last one may have read old states. */
  let forgotten = 0;

  async function read(): Promise<void> {
    const begunAt = forgotten;
    try {
      const states = (await tools?.list()) ?? [];
      if (begunAt !== forgotten) return;
      known = new Map(states.map(state => [state.server, state]));
      readMs = clock.monotonic();
    } catch (error) {
      log.info({ error: messageOf(error) }, 'the tokens of the tools were not counted');
    } finally {
      if (begunAt === forgotten) reading = undefined;
    }
  }

  return {
    /**
     * Returns the tool states by server. Waits at most 250 ms for new states, and otherwise returns the last known
     * ones.
     */
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
    /** Makes the next `get` read the states again, for example after a switch. */
    forget(): void {
      forgotten++;
      readMs = Number.NEGATIVE_INFINITY;
      reading = undefined;
    },
  };
}
