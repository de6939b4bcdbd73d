import {
  type JSONValue,
  Message,
  type MessageData,
  type ToolResultBlock,
} from '@strands-agents/sdk';
import { z } from 'zod';
import type { AgentContent, AgentMessage } from './types.ts';

/** Number of newest messages that a summary does not replace. */
const keptMessages = 6;
/** Share of the model's context above which a conversation is summarised. */
const fullShare = 0.6;
const usualContextTokens = 8_192;
/** Assumed number of characters per token. Code and most languages have fewer. */
const usualCharsPerToken = 4;

const snapshotSchema = z.object({ version: z.literal(1), messages: z.array(z.looseObject({})) });

export const textMessage = (role: 'user' | 'assistant', text: string): Message =>
  Message.fromMessageData({ role, content: [{ text }] });

/** Returns the messages as JSON, from which a new container of the agent can continue the conversation. */
export const snapshotOf = (messages: readonly Message[]): JSONValue =>
  JSON.parse(JSON.stringify({ version: 1, messages }));

/** Returns the messages for the model, from a snapshot, or from the conversation if the snapshot cannot be read. */
export function restoreMessages(
  snapshot: unknown,
  conversation: readonly AgentMessage[],
): Message[] {
  const { data } = snapshotSchema.safeParse(snapshot);
  try {
    if (data)
      return data.messages.map(one => Message.fromMessageData(one as unknown as MessageData)); // Validated by the call.
  } catch {
    // The snapshot is of another version: use the text of the conversation.
  }
  const messages: Message[] = [];
  for (const { role, content } of conversation) {
    const text = content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n');
    if (role === 'tool' || text === '') continue;
    // Keep the roles alternating: insert a placeholder between two messages of the same role.
    if (messages.at(-1)?.role === role) messages.push(unanswered(role));
    messages.push(textMessage(role, text));
  }
  if (messages.at(-1)?.role === 'user') messages.push(unanswered('user'));
  return messages;
}

const unanswered = (role: 'user' | 'assistant') =>
  textMessage(role === 'user' ? 'assistant' : 'user', '(This message had no answer.)');

/** Converts messages of the agent runtime to the format of the hub. */
export function describeMessages(
  id: string,
  messages: readonly Message[],
  at: string,
): readonly AgentMessage[] {
  return messages.map(({ role, content }) => {
    const parts = content.flatMap((block): readonly AgentContent[] => {
      if (block.type === 'textBlock') return [{ type: 'text', text: block.text }];
      if (block.type === 'toolUseBlock') {
        const { toolUseId, name, input } = block;
        const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
        return [{ type: 'tool_use', id: toolUseId, name, input: isObject ? input : { input } }];
      }
      if (block.type !== 'toolResultBlock') return [];
      const isError = block.status === 'error';
      return [
        {
          type: 'tool_result',
          tool_use_id: block.toolUseId,
          text: resultText(block),
          is_error: isError,
        },
      ];
    });
    const isTool = parts.some(({ type }) => type === 'tool_result');
    return { message_id: id, role: isTool ? 'tool' : role, at, content: parts };
  });
}

/** Returns the result of a tool as one text. */
export const resultText = ({ content }: ToolResultBlock): string =>
  content.map(part => (part.type === 'textBlock' ? part.text : JSON.stringify(part))).join('\n');

/** Returns the files that successful calls of `load_tool` in a conversation have made tools of. */
export function loadedFiles(conversation: readonly AgentMessage[]): ReadonlySet<unknown> {
  const parts = conversation.flatMap(({ content }) => content);
  const succeeded = new Set(
    parts.flatMap(part =>
      part.type === 'tool_result' && !part.is_error ? [part.tool_use_id] : [],
    ),
  );
  return new Set(
    parts.flatMap(part =>
      part.type === 'tool_use' && part.name === 'load_tool' && succeeded.has(part.id)
        ? [part.input['file']]
        : [],
    ),
  );
}

/**
 * Replaces the older part of a long conversation by a summary, which `summarise` writes. Returns the messages unchanged
 * if they fit into the model's context. `charsPerToken`: as measured; undefined before the first answer.
 */
export async function compact(
  messages: readonly Message[],
  contextTokens: number | undefined,
  charsPerToken: number | undefined,
  summarise: (text: string) => Promise<string>,
): Promise<readonly Message[]> {
  const perToken = Math.min(charsPerToken ?? usualCharsPerToken, usualCharsPerToken);
  const most = (contextTokens ?? usualContextTokens) * fullShare * perToken;
  if (sizeOf(messages) <= most) return messages;
  const from = cutOf(messages, most / 2);
  const older = describeMessages('', messages.slice(0, from), '')
    .map(({ role, content }) => `${role}: ${content.map(shortText).join('\n')}`)
    .join('\n\n');
  const summary = await summarise(older.slice(-most));
  return [
    textMessage('user', `Summary of our conversation so far:\n${summary}`),
    textMessage('assistant', 'I go on from there.'),
    ...messages.slice(from),
  ];
}

/**
 * Returns the index of the first message to keep: a text of the user, so that no tool call loses its result. The kept
 * messages have at most `most` characters, so none is kept if the last ones are longer.
 */
function cutOf(messages: readonly Message[], most: number): number {
  const starts = [...messages.keys(), messages.length].filter(at => isStart(messages[at]));
  const wanted = starts.findLast(at => at <= messages.length - keptMessages) ?? 0;
  const fitting = starts.find(at => at >= wanted && sizeOf(messages.slice(at)) <= most);
  return fitting ?? messages.length;
}

/** True for a message of the user that is no result of a tool, and for the end of the messages. */
const isStart = (message: Message | undefined): boolean =>
  !message || (message.role === 'user' && message.content.some(({ type }) => type === 'textBlock'));

const sizeOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);

/** Maximum length of a message in the text that is summarised, in characters. */
const shortLength = 2_000;

const shortText = (part: AgentContent): string =>
  (part.type === 'tool_use' ? `${part.name} ${JSON.stringify(part.input)}` : part.text).slice(
    0,
    shortLength,
  );

/** Returns the beginning of a message that did not fit into the model's context: later turns must not fail of it. */
export const beginningOf = (message: string): string =>
  message.length > shortLength
    ? `${message.slice(0, shortLength)}\n(The rest of this message was left out.)`
    : message;
