import { type Log, messageOf } from '#core';
import type { SpentTokens } from '#models';
import type { AgentMemory } from './agent-memory.ts';

type Needs = {
  readonly memory: Pick<AgentMemory, 'readSpent' | 'writeSpent'>;
  readonly log: Log;
  readonly isKnown: (id: string) => boolean;
};

/** What agents have spent on models within the last hour, as it was saved last. */
export function createSpending({ memory, log, isKnown }: Needs) {
  const spent = new Map<string, readonly SpentTokens[]>();

  async function write(id: string, tokens: readonly SpentTokens[]): Promise<void> {
    try {
      await memory.writeSpent(id, tokens);
    } catch (error) {
      // This also happens if the agent was removed in the meantime.
      log.warn({ agent: id, error: messageOf(error) }, 'what the agent has spent was not written');
    }
  }

  return {
    async load(id: string): Promise<void> {
      spent.set(id, await memory.readSpent(id));
    },
    earlier: (id: string): readonly SpentTokens[] => spent.get(id) ?? [],
    save(id: string, tokens: readonly SpentTokens[]): void {
      if (isKnown(id)) spent.set(id, tokens);
      void write(id, tokens);
    },
    forget: (id: string): void => void spent.delete(id),
  };
}
