import { type JsonObject, isJsonObject, isObject, tryParseJson } from '#core';
import type { ChatMessage, ChatRequest, ChatTool, ToolResultBlock } from './chat-types.ts';

/** Returns the messages, tools and format of a chat for Ollama's /api/chat. */
export function ollamaMessages(
  request: Pick<ChatRequest, 'system' | 'messages' | 'tools' | 'toolChoice'>,
) {
  const { system, messages, toolChoice } = request;
  const tools = toolChoice === 'none' ? [] : request.tools;
  return {
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap((message, at) => messageOf(message, messages[at - 1])),
    ],
    ...(tools.length > 0 && { tools: tools.map(functionOf) }),
    // Ollama has no tool_choice. With a grammar for calls in addition to the tools, models answer with calls (seen in
    // 0.24).
    ...(tools.length > 0 && toolChoice === 'required' && { format: anyCallOf(tools) }),
  };
}

/** Definition of a tool for Ollama and the OpenAI API. */
export const functionOf = ({ name, description, inputSchema }: ChatTool) => ({
  type: 'function',
  function: { name, ...(description !== undefined && { description }), parameters: inputSchema },
});

const anyCallOf = (tools: readonly ChatTool[]): JsonObject => ({
  anyOf: tools.map(({ name, inputSchema }) => ({
    type: 'object',
    properties: { name: { const: name }, arguments: inputSchema },
    required: ['name', 'arguments'],
  })),
});

type OllamaMessage = { readonly role: string; readonly content: string };

function messageOf(
  message: ChatMessage,
  before: ChatMessage | undefined,
): readonly OllamaMessage[] {
  const content = textIn(message);
  if (message.role === 'assistant') {
    const calls = message.content
      .filter(block => block.type === 'tool_use')
      .map(({ id, name, input }) => ({ id, function: { name, arguments: input } }));
    return [{ role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) }];
  }
  const results = message.content.filter(block => block.type === 'tool_result');
  if (results.length === 0) return [{ role: 'user', content }];
  const names = namesOfCalls(before);
  return results.map(result => ({
    role: 'tool',
    tool_name: names.get(result.toolUseId) ?? '',
    tool_call_id: result.toolUseId,
    content: resultText(result),
  }));
}

/** Returns the text blocks of a message as one text. */
export const textIn = ({ content }: ChatMessage): string =>
  content.flatMap(block => (block.type === 'text' ? block.text : [])).join('\n\n');

/** Returns the text of a tool's result. An error says so in the text, because messages have no field for it. */
export const resultText = ({ text, isError }: ToolResultBlock): string =>
  isError && !text.startsWith('Error: ') ? `Error: ${text}` : text;

/** Returns the names of the tools that a message calls, by the ids of the calls. */
function namesOfCalls(message: ChatMessage | undefined): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const block of message?.content ?? [])
    if (block.type === 'tool_use') names.set(block.id, block.name);
  return names;
}

/** Parses an entry of `tool_calls` in an Ollama message. The name of a call without one is ''. */
export function parseCall(call: unknown) {
  const { id, function: called } = isObject(call) ? call : {};
  const { name, arguments: given } = isObject(called) ? called : {};
  return {
    id: typeof id === 'string' ? id : undefined,
    name: typeof name === 'string' ? name : '',
    input: callInputOf(given),
  };
}

/** Parses a call that the model wrote as text, in the format of `anyCallOf`; undefined if the text is no call. */
export function parseCallText(text: string) {
  const value = tryParseJson(text);
  const call = parseCall({ function: value });
  return isObject(value) && isObject(value['arguments']) && call.name !== '' ? call : undefined;
}

/** Returns the arguments of a call. Arguments that are not an object are passed on, so that the tool refuses them. */
export function callInputOf(given: unknown): JsonObject {
  const value = typeof given === 'string' ? tryParseJson(given) : given;
  if (isJsonObject(value)) return value;
  if (given === undefined || given === null) return {};
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return text.trim() === '' ? {} : { arguments: text };
}
