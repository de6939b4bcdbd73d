import { retryable } from '#core';

/** An agent whose container may be stopped to make room. */
type Idler = {
  readonly id: string;
  readonly idleSince: number;
  readonly stop: () => Promise<void>;
};

/** Limits how many containers of agents run at the same time. */
export type AgentPlaces = ReturnType<typeof createPlaces>;

/** `idlers`: returns the agents whose container is idle. */
export function createPlaces(most: () => number, idlers: () => readonly Idler[]) {
  const taken = new Set<string>();
  const waiting: { readonly id: string; readonly begin: () => void }[] = [];

  function admit(): void {
    while (waiting.length > 0 && taken.size < most()) {
      const next = waiting.shift();
      if (!next) return;
      taken.add(next.id);
      next.begin();
    }
    if (waiting.length > 0) void makeRoom();
  }

  async function makeRoom(): Promise<void> {
    const [longest] = idlers().toSorted((a, b) => a.idleSince - b.idleSince);
    await longest?.stop();
  }

  return {
    /**
     * Resolves when the agent may have a container. With patience `none`, does not wait for agents at work, because one of
     * them waits for this agent: rejects with HUB_AGENTS_FULL.
     */
    async take(id: string, patience: 'waits' | 'none', signal: AbortSignal): Promise<void> {
      if (taken.has(id)) return;
      if (taken.size < most()) return void taken.add(id);
      if (patience === 'none' && idlers().length === 0)
        throw retryable(
          'HUB_AGENTS_FULL',
          `${most()} agents are at work, as many as "agents.max_running" permits, and one of them waits for ${id}. Ask it later, or raise the limit in the config`,
        );
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const entry = { id, begin: resolve };
      const leave = () => {
        const at = waiting.indexOf(entry);
        if (at !== -1) waiting.splice(at, 1);
        reject(signal.reason);
      };
      waiting.push(entry);
      signal.addEventListener('abort', leave);
      try {
        admit();
        await promise;
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
    /** Call this when the container of the agent has ended. */
    release(id: string): void {
      if (taken.delete(id)) admit();
    },
    /** Call this when an agent becomes idle: its container is stopped if another agent waits for a place. */
    offer: admit,
  };
}
