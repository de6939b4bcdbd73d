import { isObject } from '#core';
import {
  type Asked,
  type OllamaDouble,
  type OllamaDoubleOptions,
  type Said,
  modelNamed,
  startOllama,
} from './ollama.ts';
import { contentOf } from './ollama-reply.ts';

/** A message of the history of a chat, in Ollama's format. */
type ScriptedMessage = {
  readonly role: string;
  readonly content: string;
  readonly toolCalls: readonly { readonly name: string; readonly arguments: object }[];
  /** Name of the tool whose result the message is, in messages of role `tool`. */
  readonly toolName: string | undefined;
};

/** A chat request as scripts read it. */
export type ScriptedRequest = {
  /** Number of the chat in this double, from 0. */
  readonly at: number;
  readonly model: string;
  readonly system: string | undefined;
  /** All messages except the system message. */
  readonly messages: readonly ScriptedMessage[];
  readonly last: ScriptedMessage | undefined;
  /** Names of the tools that the request offers. */
  readonly tools: readonly string[];
  /** Body of the request. */
  readonly asked: Asked;
};

/** Returns the model's reply to a chat: a text, or a Reply with tool calls, chunks and faults. A promise delays it. */
export type Script = (request: ScriptedRequest) => Said | Promise<Said>;

type ScriptedModel = {
  readonly name: string;
  readonly capabilities?: readonly string[];
  readonly contextLength?: number;
};

type ScriptedOptions = Omit<OllamaDoubleOptions, 'models'> & {
  /** Models of the double. Default: `scripted:1b`, which chats and calls tools. */
  readonly models?: readonly ScriptedModel[];
  readonly script: Script;
};

/** Starts an Ollama double whose models reply by a script. */
export async function startScriptedOllama(options: ScriptedOptions): Promise<OllamaDouble> {
  const { models = [{ name: 'scripted:1b' }], script, ...others } = options;
  const ollama = await startOllama({ ...others, models: [] });
  for (const { name, ...made } of models)
    ollama.add(modelNamed(name, { capabilities: ['completion', 'tools'], ...made }));
  let count = 0;
  ollama.says(asked => script(readChat(asked, count++)));
  return ollama;
}

function readChat(asked: Asked, at: number): ScriptedRequest {
  const all = listIn(asked, 'messages').map(readMessage);
  const messages = all.filter(({ role }) => role !== 'system');
  return {
    at,
    model: String(asked['model']),
    system: all.find(({ role }) => role === 'system')?.content,
    messages,
    last: messages.at(-1),
    tools: listIn(asked, 'tools').map(tool => String(objectIn(tool, 'function')['name'])),
    asked,
  };
}

function readMessage(message: unknown): ScriptedMessage {
  const { role, tool_name: toolName } = isObject(message) ? message : {};
  return {
    role: String(role),
    content: contentOf(message),
    toolCalls: listIn(message, 'tool_calls').map(call => {
      const called = objectIn(call, 'function');
      return { name: String(called['name']), arguments: objectIn(called, 'arguments') };
    }),
    toolName: typeof toolName === 'string' ? toolName : undefined,
  };
}

function listIn(value: unknown, key: string): readonly unknown[] {
  const found = isObject(value) ? value[key] : undefined;
  return Array.isArray(found) ? found : [];
}

function objectIn(value: unknown, key: string): { readonly [key: string]: unknown } {
  const found = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : {};
}
