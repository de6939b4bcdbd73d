import { HubError, isJsonObject, isObject } from '#core';
import type { ChatMessage, TextBlock, ToolResultBlock, ToolUseBlock } from '../chat/chat-types.ts';

type Block = TextBlock | ToolUseBlock | ToolResultBlock;

/** Returns an error that names the field, the problem, and a valid value. */
export const invalid = (field: string, problem: string, remedy: string): HubError =>
  new HubError('HUB_REQUEST_INVALID', `sampling/createMessage: ${field} ${problem}: ${remedy}`);

/** Reads the messages of sampling/createMessage. Throws HUB_REQUEST_INVALID. */
export function readMessages(value: unknown): readonly ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid('messages', 'is not a list of messages', 'send at least one message');
  const messages = value.map(readMessage);
  for (const [at, message] of messages.entries()) requireBalance(message, messages[at - 1], at);
  const last = messages.at(-1);
  if (last?.role === 'assistant' && callsIn(last).length > 0)
    throw invalid(
      `messages[${messages.length - 1}].content`,
      'calls tools, and no message follows',
      'send their results in a user message after it',
    );
  // Histories may contain messages without content, which endpoints refuse.
  const said = messages.filter(({ content }) => content.length > 0);
  if (said.length === 0) throw invalid('messages', 'has no content', 'send at least one block');
  return said;
}

function readMessage(value: unknown, at: number): ChatMessage {
  const field = `messages[${at}]`;
  const { role, content } = isObject(value) ? value : {};
  if (role !== 'user' && role !== 'assistant')
    throw invalid(`${field}.role`, 'is neither "user" nor "assistant"', 'send one of them');
  const given: readonly unknown[] = Array.isArray(content) ? content : [content];
  const blocks = given.map((block, index) =>
    readBlock(block, Array.isArray(content) ? `${field}.content[${index}]` : `${field}.content`),
  );
  if (role === 'assistant') {
    const own = blocks.filter(block => block.type !== 'tool_result');
    if (own.length === blocks.length) return { role, content: own };
    throw invalid(
      `${field}.content`,
      'has a tool_result in an assistant message',
      'send results of tools in a user message',
    );
  }
  const own = blocks.filter(block => block.type !== 'tool_use');
  if (own.length < blocks.length)
    throw invalid(
      `${field}.content`,
      'has a tool_use in a user message',
      'send calls of tools in an assistant message',
    );
  const results = own.filter(({ type }) => type === 'tool_result').length;
  if (results > 0 && results < own.length)
    throw invalid(
      `${field}.content`,
      'has other blocks beside tool_result',
      'send the results in a message of their own',
    );
  return { role, content: own };
}

function readBlock(value: unknown, field: string): Block {
  const block = isObject(value) ? value : {};
  const { type } = block;
  if (type === 'text') return { type, text: textIn(block, 'text', field) };
  if (type === 'tool_use') {
    const { input } = block;
    if (!isJsonObject(input))
      throw invalid(`${field}.input`, 'is not an object', 'send an object of arguments');
    return { type, id: textIn(block, 'id', field), name: textIn(block, 'name', field), input };
  }
  if (type === 'tool_result') {
    const text = resultText(block, field);
    const toolUseId = textIn(block, 'toolUseId', field);
    return { type, toolUseId, text, isError: block['isError'] === true };
  }
  const isMedia = type === 'image' || type === 'audio';
  throw invalid(
    `${field}.type`,
    isMedia ? `is "${type}", which the hub does not pass to models` : 'is unknown',
    'send "text", "tool_use" or "tool_result"',
  );
}

function textIn(block: { readonly [key: string]: unknown }, key: string, field: string): string {
  const value = block[key];
  if (typeof value === 'string') return value;
  throw invalid(`${field}.${key}`, 'is not a string', 'send a text');
}

/** Returns the content of a tool result as text: other types of content are not passed to models. */
function resultText(block: { readonly [key: string]: unknown }, field: string): string {
  const { content = [], structuredContent } = block;
  if (!Array.isArray(content))
    throw invalid(`${field}.content`, 'is not a list', 'send a list of blocks');
  if (content.length === 0 && structuredContent !== undefined)
    return JSON.stringify(structuredContent);
  return content.map(one => contentText(isObject(one) ? one : {})).join('\n\n');
}

function contentText(content: { readonly [key: string]: unknown }): string {
  const { type, text, uri, mimeType, resource } = content;
  if (type === 'text' && typeof text === 'string') return text;
  const of = isObject(resource) ? resource : content;
  if (type === 'resource' && typeof of['text'] === 'string') return of['text'];
  const about = [uri ?? of['uri'], mimeType ?? of['mimeType']].filter(Boolean).map(String);
  return `[${[String(type), ...about].join(' ')}: not shown to the model]`;
}

const callsIn = (message: ChatMessage | undefined): readonly string[] =>
  message?.role === 'assistant'
    ? message.content.flatMap(block => (block.type === 'tool_use' ? block.id : []))
    : [];

const resultsIn = (message: ChatMessage): readonly string[] =>
  message.role === 'user'
    ? message.content.flatMap(block => (block.type === 'tool_result' ? block.toolUseId : []))
    : [];

/** Throws HUB_REQUEST_INVALID unless the tool results of a message match the tool calls of the previous message. */
function requireBalance(message: ChatMessage, before: ChatMessage | undefined, at: number): void {
  const calls = new Set(callsIn(before));
  const answered = new Set<string>();
  const other: string[] = [];
  for (const id of resultsIn(message)) {
    if (!calls.has(id) || answered.has(id)) other.push(id);
    answered.add(id);
  }
  const field = `messages[${at}].content`;
  const open = [...calls].filter(id => !answered.has(id));
  if (open.length > 0)
    throw invalid(
      field,
      `has no tool_result for ${idsText(open)}`,
      'answer every tool_use of the message before',
    );
  if (other.length > 0)
    throw invalid(
      field,
      `has a tool_result for ${idsText(other)}, which the message before does not call, or twice`,
      'send one result for each tool_use of the message before',
    );
  if (calls.size < callsIn(before).length)
    throw invalid(`messages[${at - 1}].content`, 'has two tool_use of one id', 'send own ids');
}

const maxShown = 10;
const maxIdLength = 200;

/** Formats ids for an error message. Their number is limited, because the sender chooses it. */
const idsText = (ids: readonly string[]) =>
  ids
    .slice(0, maxShown)
    .map(id => JSON.stringify(id.slice(0, maxIdLength)))
    .join(', ');
