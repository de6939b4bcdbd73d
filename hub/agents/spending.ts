import { type Log, messageOf } from '#core';
import type { SpentTokens } from '#models';
import type { AgentMemory } from './agent-memory.ts';

type Needs = {
  readonly memory: Pick<AgentMemory, 'readSpent' | 'writeSpent'>;
  readonly log: Log;
  readonly isKnown: (id: string) => boolean;
};

/** Stores the tokens that agents have spent on models within the last hour. */
export function createSpending({ memory, log, isKnown }: Needs) {
  const spent = new Map<string, readonly SpentTokens[]>();

  async function write(id: string, tokens: readonly SpentTokens[]): Promise<void> {
    try {
      await memory.writeSpent(id, tokens);
    } catch (error) {
      // The agent may have been removed meanwhile.
      log.warn(
        { agent: id, error: messageOf(error) },
        'the spent tokens of the agent could not be written',
      );
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
