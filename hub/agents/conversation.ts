import { type Clock, createAbortScope, sleep } from '#core';
import type { Agent } from './agent.ts';
import type { AgentMemory } from './agent-memory.ts';
import type { MessageQueue, PendingMessage } from './message-queue.ts';
import type { Conversation, ConversationRequest } from './agent-types.ts';
import type { AgentMessage } from './session-schema.ts';

type Needs = {
  readonly clock: Clock;
  readonly memory: Pick<AgentMemory, 'readSession'>;
  readonly queue: Pick<MessageQueue, 'of'>;
};

/** Reads a conversation. With `waitMs`, waits for an answer before. */
export async function readConversation(
  agent: Agent,
  request: ConversationRequest,
  { clock, memory, queue }: Needs,
  signal: AbortSignal,
): Promise<Conversation> {
  const { count, since, waitMs = 0, withTools = false } = request;
  if (waitMs > 0) await untilAnswered(agent, since, waitMs, clock, signal);
  const session = await memory.readSession(agent.id);
  const messages = session?.messages ?? [];
  const failures = session?.failures ?? [];
  const shown = after(messages, since)
    .flatMap(message => (withTools ? message : withoutTools(message)))
    .slice(-count);
  const shownIds = new Set(shown.map(({ message_id: id }) => id));
  const { status } = agent.view();
  // Looked up by id: the agent may already work on the next message, or have its outcome.
  const failure = failures.find(({ message_id: id }) => id === since);
  const last = agent.lastOutcome;
  const isLast = since === undefined ? status !== 'running' : since === last?.messageId;
  const error = failure
    ? { code: failure.code, message: failure.message }
    : isLast
      ? last?.error
      : undefined;
  return {
    agentId: agent.id,
    status,
    messages: shown,
    // A message that was just answered may still be in the queue.
    waiting: queue
      .of(agent.id)
      .filter(({ id }) => !messages.some(({ message_id: known }) => known === id))
      .map(asMessage),
    failures: failures.filter(({ message_id: id }) => shownIds.has(id)),
    ...(error && { error }),
  };
}

/** Resolves when the message `since`, or every message, has its outcome, after `waitMs`, or when the signal aborts. */
async function untilAnswered(
  agent: Agent,
  since: string | undefined,
  waitMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const isWaiting = () =>
    since === undefined
      ? agent.view().status === 'running' || agent.view().queued > 0
      : agent.has(since);
  using scope = createAbortScope([signal]);
  using _heard = agent.ended(() => {
    if (!isWaiting()) scope.abort();
  });
  if (isWaiting()) await sleep(waitMs, { clock, signal: scope.signal });
}

const asMessage = ({ id, at, text }: PendingMessage): AgentMessage => ({
  message_id: id,
  role: 'user',
  at: new Date(at).toISOString(),
  content: [{ type: 'text', text }],
});

function after(messages: readonly AgentMessage[], since: string | undefined) {
  if (since === undefined) return messages;
  const at = messages.findIndex(({ message_id: id }) => id === since);
  return at === -1 ? [] : messages.slice(at + 1);
}

/** Returns a message without its tool calls; none if nothing is left. */
function withoutTools(message: AgentMessage): readonly AgentMessage[] {
  const content = message.content.filter(({ type }) => type === 'text');
  return message.role === 'tool' || content.length === 0 ? [] : [{ ...message, content }];
}
