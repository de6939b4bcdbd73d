import { HubError, unlessAborted } from '#core';
import type { AgentContainer } from './agent-container.ts';
import type { AgentSettings } from './agent-types.ts';
import type { MessageQueue, PendingMessage } from './message-queue.ts';
import { type TurnResult, readTurnResult } from './turn-result.ts';

type Turn = {
  readonly container: AgentContainer;
  readonly queue: Pick<MessageQueue, 'started'>;
  /** Read again once the container is ready. */
  readonly settings: () => AgentSettings;
  readonly turnMs: () => number;
  /** Sets the current activity of the agent, in words. */
  readonly doing: (what: string) => void;
  readonly signal: AbortSignal;
};

/** The reason of a turn that was cancelled by a caller. */
export const cancelled = new HubError('HUB_CALL_CANCELLED', 'the message was cancelled');

/**
 * Sends a message to the container of an agent, and resolves with the result. Rejects if there is none. A cancelled turn
 * has a result if the container finished it first.
 */
export async function performTurn(
  agentId: string,
  message: PendingMessage,
  { container, queue, settings, turnMs, doing, signal }: Turn,
): Promise<TurnResult> {
  const patience = message.from.startsWith('agent:') ? 'none' : 'waits';
  const failed = (problem: string) => doing(`starting again: ${problem}`);
  const ready = await container.ready(settings(), patience, failed, signal);
  if (message.startedIn !== undefined && message.startedIn !== ready)
    throw new HubError(
      'HUB_AGENT_DIED',
      `the container of ${agentId} ended while it worked on this message. Whether its tools took effect is unknown: look into its workspace, and send the message again if it is still wanted`,
    );
  const briefing = await container.brief(settings());
  if (message.startedIn === undefined) await queue.started(message.id, ready);
  doing('thinking');
  const chat = container.chat(message, briefing, turnMs());
  try {
    return readTurnResult(agentId, await unlessAborted(chat, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
    doing('cancelling');
    await container.endTurn(message.id, chat);
    if (signal.reason !== cancelled) throw signal.reason;
    return readTurnResult(agentId, await container.resultOf(message.id));
  }
}
