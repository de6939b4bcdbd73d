import assert from 'node:assert/strict';
import { type Message, rawText, readMessages } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Speaker } from './params.ts';
import { replay } from './settings.ts';

/** The ids, as JSON texts, that must be answered, and those that may be. */
type Expected = {
  readonly must: readonly string[];
  readonly may: readonly string[];
};

/** What is answered to one message, or to a batch, of which newer revisions have none. */
export function expectedOf(frame: Buffer): Expected {
  const { batch, messages } = readMessages(Buffer.from(frame));
  const [message] = messages;
  if (batch || !message || message.kind === 'malformed') return { must: ['null'], may: [] };
  if (message.kind !== 'request') return { must: [], may: [] };
  const id = rawText(message.bytes, message.id);
  // Who listens is answered at the end, which may not come.
  return message.method === 'subscriptions/listen'
    ? { must: [], may: [id] }
    : { must: [id], may: [] };
}

export const isOfStateless = (bytes: Buffer): boolean => bytes.includes(metaKeys.protocolVersion);

/** The same where clients cancel by a notification: a request of the stateless revision has no answer then. */
export function expectedOnWire(frame: Buffer): Expected {
  const { must, may } = expectedOf(frame);
  return isOfStateless(frame) ? { must: [], may: [...must, ...may] } : { must, may };
}

/** One message of the hub. Fails where it is none. */
export function readOne(bytes: Buffer): Message {
  JSON.parse(bytes.toString());
  const { messages } = readMessages(Buffer.from(bytes));
  const [message] = messages;
  assert.ok(messages.length === 1 && message && message.kind !== 'malformed', replay(bytes));
  return message;
}

/** The id of a message as JSON text; `null` where it has none. */
export const idOf = (message: Message): string =>
  message.kind !== 'notification' && message.id ? rawText(message.bytes, message.id) : 'null';

/** A request as bytes, given its id. */
export const encode = (id: string, method: string, params?: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));

/** The params of `initialize` of a client that can be asked. */
export const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {} },
  clientInfo: { name: 'fuzz', version: '1' },
} as const;

/** What a server asked is answered in the end, so that its calls end as well. */
export const replyTo = (id: string, { secret }: Speaker): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":${JSON.stringify(secret)}}}`);
