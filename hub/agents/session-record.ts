import { type Clock, type Log, messageOf } from '#core';
import type { AgentMemory } from './agent-memory.ts';
import type { PendingMessage } from './message-queue.ts';
import {
  type AgentMessage,
  type AgentSession,
  type MessageOutcome,
  newSession,
} from './session-schema.ts';
import type { TurnResult } from './turn-result.ts';

/** The members of a session that stay in memory between turns. */
export type SessionSummary = Pick<
  AgentSession,
  'usage' | 'model' | 'lastOutcome' | 'lastMessageId'
>;

type Turn = {
  readonly message: PendingMessage;
  readonly outcome: MessageOutcome;
  /** Result of the container; undefined if there is none. */
  readonly result: TurnResult | undefined;
};

type Needs = {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  readonly memory: Pick<AgentMemory, 'readSession' | 'writeSession'>;
};

/** Maximum number of stored failures. */
const maxFailures = 100;
/** Stored as the failure of a cancelled message, so that its sender can read it after later messages. */
const cancelledReason = { code: 'HUB_CALL_CANCELLED', message: 'the message was cancelled' };
/**
 * Maximum length of the stored messages as JSON, in characters. The oldest messages of a longer conversation are dropped:
 * each turn reads and writes all of them, and the model gets only a summary of old ones.
 */
const maxConversationLength = 16 * 2 ** 20;

/** Writes the turns of one agent to its `session.json`, one after another. */
export function createSessionRecord(
  id: string,
  earlier: SessionSummary | undefined,
  { clock, log, memory }: Needs,
) {
  let summary = earlier;
  let last: Promise<unknown> = Promise.resolve();

  async function write(turn: Turn): Promise<readonly AgentMessage[]> {
    const now = clock.now();
    let turned = addTurn({ ...newSession(id, now), ...summary }, turn, now);
    try {
      const session = await memory.readSession(id);
      turned = addTurn(session ?? newSession(id, now), turn, now);
      await memory.writeSession(turned.next);
    } catch (error) {
      // The message has its outcome nevertheless, so that it is not answered twice. A file that cannot be read stays unchanged.
      log.error({ error: messageOf(error) }, 'the conversation could not be written');
    }
    const { usage, model, lastMessageId, lastOutcome } = turned.next;
    summary = { usage, model, lastMessageId, lastOutcome };
    return turned.added;
  }

  return {
    /** Undefined for an agent without a conversation. */
    get summary() {
      return summary;
    },
    /** Adds a turn, and resolves with its new messages. */
    add(turn: Turn): Promise<readonly AgentMessage[]> {
      const added = last.then(() => write(turn));
      // Without the value: a stopped agent would keep the messages of its last turn in memory.
      last = added.then(
        () => undefined,
        () => undefined,
      );
      return added;
    },
  };
}

/** Returns the session after a turn, and the messages that the turn added. The user's message is added only once. */
function addTurn(session: AgentSession, { message, outcome, result }: Turn, now: number) {
  const isKnown = session.messages.some(
    ({ role, message_id: known }) => role === 'user' && known === message.id,
  );
  const asked = {
    message_id: message.id,
    role: 'user' as const,
    at: new Date(message.at).toISOString(),
    content: [{ type: 'text' as const, text: message.text }],
  };
  const handed = (result?.messages ?? []).filter(
    ({ role, message_id: one }) => !(role === 'user' && one === message.id),
  );
  const added = [...(isKnown ? [] : [asked]), ...handed];
  const { usage } = session;
  const reason = outcome.status === 'cancelled' ? cancelledReason : outcome.error;
  const next: AgentSession = {
    ...session,
    updatedAt: new Date(now).toISOString(),
    model: result?.model ?? session.model,
    messages: newestOf([...session.messages, ...added]),
    usage: {
      input_tokens: usage.input_tokens + (result?.usage.input_tokens ?? 0),
      output_tokens: usage.output_tokens + (result?.usage.output_tokens ?? 0),
      model_calls: usage.model_calls + (result?.usage.model_calls ?? 0),
    },
    lastMessageId: message.id,
    lastOutcome: outcome,
    failures: [
      ...(session.failures ?? []),
      ...(reason ? [{ message_id: message.id, ...reason }] : []),
    ].slice(-maxFailures),
    ...(result && { snapshot: result.snapshot }),
  };
  return { next, added };
}

/** Returns the newest messages within the limit, but at least one. */
function newestOf<T>(messages: readonly T[]): T[] {
  let length = 0;
  const dropped = messages.findLastIndex(message => {
    length += JSON.stringify(message).length;
    return length > maxConversationLength;
  });
  return messages.slice(Math.min(dropped + 1, messages.length - 1));
}
