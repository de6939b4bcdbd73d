import assert from 'node:assert/strict';
import { type Message, rawText, readMessages } from '#jsonrpc';
import { metaKeys } from '#mcp';
import type { Speaker } from './params.ts';
import { replay } from './settings.ts';

/** Ids, as JSON texts, of answers that must come, and of answers that may come. */
type Expected = {
  readonly must: readonly string[];
  readonly may: readonly string[];
};

/** Returns the expected answers to a message, or to a batch, which newer revisions do not allow. */
export function expectedOf(frame: Buffer): Expected {
  const { batch, messages } = readMessages(Buffer.from(frame));
  const [message] = messages;
  if (batch || !message || message.kind === 'malformed') return { must: ['null'], may: [] };
  if (message.kind !== 'request') return { must: [], may: [] };
  const id = rawText(message.bytes, message.id);
  // `subscriptions/listen` is answered when it ends, which may not happen.
  return message.method === 'subscriptions/listen'
    ? { must: [], may: [id] }
    : { must: [id], may: [] };
}

export const isOfStateless = (bytes: Buffer): boolean => bytes.includes(metaKeys.protocolVersion);

/** Same as `expectedOf` for wires where clients cancel by notification: then stateless requests get no answer. */
export function expectedOnWire(frame: Buffer): Expected {
  const { must, may } = expectedOf(frame);
  return isOfStateless(frame) ? { must: [], may: [...must, ...may] } : { must, may };
}

/** Parses a message of the hub. Fails if it is not exactly one valid message. */
export function readOne(bytes: Buffer): Message {
  JSON.parse(bytes.toString());
  const { messages } = readMessages(Buffer.from(bytes));
  const [message] = messages;
  assert.ok(messages.length === 1 && message && message.kind !== 'malformed', replay(bytes));
  return message;
}

/** Returns the id of a message as JSON text; `null` if it has none. */
export const idOf = (message: Message): string =>
  message.kind !== 'notification' && message.id ? rawText(message.bytes, message.id) : 'null';

/** Encodes a request with this id. */
export const encode = (id: string, method: string, params?: object): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));

/** Params of an `initialize` of a client that supports sampling. */
export const introduction = {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {} },
  clientInfo: { name: 'fuzz', version: '1' },
} as const;

/** Returns a valid reply to a request of a server, so that the calls that wait for it end. */
export const replyTo = (id: string, { secret }: Speaker): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":${JSON.stringify(secret)}}}`);
