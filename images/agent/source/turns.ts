import type { StrandsEngine } from './strands-engine.ts';
import type { Briefing, TurnResult } from './types.ts';

/** Queue of messages from the hub and from the HTTP API. The engine works on one message at a time. */
export type Turns = ReturnType<typeof createTurns>;

export function createTurns(engine: StrandsEngine, reconnected: () => void) {
  let last: Promise<unknown> = Promise.resolve();
  const waiting = new Map<
    string,
    { readonly result: Promise<TurnResult>; readonly ending: AbortController }
  >();
  /** Newest result for the hub, which may request it again. */
  let finished: TurnResult | undefined;

  return {
    get queued(): number {
      return Math.max(0, waiting.size - (engine.health().status === 'working' ? 1 : 0));
    },
    /**
     * Queues a message and resolves with its result. A message that is already queued or running is not queued again.
     * `fromHub`: settings and session from the hub. Undefined for messages of the HTTP API.
     */
    chat(id: string, message: string | undefined, fromHub?: Briefing): Promise<TurnResult> {
      if (finished?.message_id === id) return Promise.resolve(finished);
      const known = waiting.get(id);
      if (known) {
        // A hub sends a message twice only after a restart, and has then lost the requests of the agent.
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
