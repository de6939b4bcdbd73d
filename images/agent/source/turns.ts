import type { StrandsEngine } from './strands-engine.ts';
import type { Briefing, TurnResult } from './types.ts';

/** Takes messages one after another, from the hub and from the HTTP API. */
export type Turns = ReturnType<typeof createTurns>;

export function createTurns(engine: StrandsEngine, reconnected: () => void) {
  let last: Promise<unknown> = Promise.resolve();
  const waiting = new Map<
    string,
    { readonly result: Promise<TurnResult>; readonly ending: AbortController }
  >();
  /** The newest result, which the hub may ask for again. */
  let finished: TurnResult | undefined;

  return {
    get queued(): number {
      return Math.max(0, waiting.size - (engine.health().status === 'working' ? 1 : 0));
    },
    /**
     * Queues a message, or joins the work on it. `fromHub`: what the hub tells with it, for a message that is new; the
     * result is handed over to the hub. Undefined: the message is of the HTTP API.
     */
    chat(id: string, message: string | undefined, fromHub?: Briefing): Promise<TurnResult> {
      if (finished?.message_id === id) return Promise.resolve(finished);
      const known = waiting.get(id);
      if (known) {
        // Only a hub that was restarted asks twice. It has lost what the agent had asked it.
        reconnected();
        return known.result;
      }
      if (message === undefined)
        throw new TypeError(`message: is missing, and ${id} is not a message of this agent`);
      const ending = new AbortController();
      const result = last.then(async () => {
        if (fromHub) engine.brief(fromHub);
        if (fromHub && finished) engine.handedOver();
        const done = await engine.chat(id, message, ending.signal);
        if (fromHub) finished = done;
        return done;
      });
      const tidy = () => void waiting.delete(id);
      result.then(tidy, tidy);
      waiting.set(id, { result, ending });
      last = result.catch(() => undefined);
      return result;
    },
    cancel(id: string): boolean {
      const known = waiting.get(id);
      if (!known) return false;
      if (!engine.cancel(id)) known.ending.abort(new Error('cancelled'));
      return true;
    },
  };
}
