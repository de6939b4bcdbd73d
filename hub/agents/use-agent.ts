import { z } from 'zod';
import { HubError, type JsonObject, untilAborted } from '#core';
import { requireAgentId } from './agent-id.ts';
import type { Agent } from './agent.ts';
import type { AgentMemory } from './agent-memory.ts';
import type { MessageOutcome } from './session-schema.ts';

const argumentsSchema = z.strictObject({ agent_id: z.string(), message: z.string() });

type Needs = {
  readonly memory: Pick<AgentMemory, 'readSession'>;
  /** Queues the message, and creates the agent when it is new. */
  readonly send: (
    id: string,
    message: string,
    from: string,
  ) => Promise<{ readonly messageId: string }>;
  readonly find: (id: string) => Agent | undefined;
};

/** Creates the function behind the tool `use_agent`, with which agents send messages to each other. */
export function createUseAgent({ memory, send, find }: Needs) {
  /** Ids of the agents that an agent waits for, by agent, with one entry per call. */
  const waits = new Map<string, string[]>();

  /** True if `from` waits for `to`, directly or through other agents. */
  function waitsFor(from: string, to: string, seen = new Set<string>()): boolean {
    if (from === to) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    return (waits.get(from) ?? []).some(next => waitsFor(next, to, seen));
  }

  async function ask(from: Agent, target: string, message: string, signal: AbortSignal) {
    const { messageId } = await send(target, message, `agent:${from.id}`);
    const agent = find(target);
    if (!agent) throw new HubError('HUB_AGENT_UNKNOWN', `the agent ${target} was removed`);
    const done = Promise.withResolvers<MessageOutcome>();
    using _heard = agent.ended(({ id, outcome }) => {
      if (id === messageId) done.resolve(outcome);
    });
    using ending = untilAborted(signal);
    const outcome = await Promise.race([done.promise, ending.aborted]);
    if (!outcome) {
      await agent.cancel(messageId);
      throw new HubError('HUB_CALL_CANCELLED', `the question to ${target} was cancelled`);
    }
    if (outcome.status !== 'answered')
      return toolResult(
        `${target} did not answer: ${outcome.error?.message ?? 'the message was cancelled'}`,
        true,
      );
    const messages = (await memory.readSession(target))?.messages ?? [];
    const answers = messages.filter(
      ({ role, message_id: id }) => role === 'assistant' && id === messageId,
    );
    const texts = answers.flatMap(({ content }) =>
      content.flatMap(part => (part.type === 'text' ? [part.text] : [])),
    );
    return toolResult(texts.at(-1) ?? '', false);
  }

  /**
   * Sends a message of one agent to another, and waits for its answer. Refuses agents that are not granted, and agents that
   * wait for the sender, which would never end. Refusals are tool results, so that the model can continue.
   */
  return async (from: Agent, args: unknown, signal: AbortSignal): Promise<JsonObject> => {
    const { data } = argumentsSchema.safeParse(args);
    if (!data) return toolResult('use_agent takes {"agent_id": "...", "message": "..."}', true);
    const { message, agent_id: target } = data;
    if (!from.settings.grants.agents.includes(target))
      return toolResult(
        `${from.id} may not ask the agent ${target}. It may ask: ${from.settings.grants.agents.join(', ') || 'none'}`,
        true,
      );
    if (waitsFor(target, from.id))
      return toolResult(
        `HUB_AGENT_CYCLE: ${target} ${target === from.id ? 'is the asking agent itself' : `waits for ${from.id}`}, so it could never answer. Answer without it`,
        true,
      );
    waits.set(from.id, [...(waits.get(from.id) ?? []), target]);
    try {
      return await ask(from, requireAgentId(target), message, signal);
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      return toolResult(`${error.code}: ${error.message}`, true);
    } finally {
      const left = waits.get(from.id) ?? [];
      left.splice(left.indexOf(target), 1);
      if (left.length === 0) waits.delete(from.id);
    }
  };
}

const toolResult = (text: string, isError: boolean): JsonObject => ({
  content: [{ type: 'text', text }],
  isError,
});
