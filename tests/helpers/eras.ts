import assert from 'node:assert/strict';
import {
  Client as ClientOf2026,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioOf2026 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOf2025 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOf2025 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpOf2025 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { isObject } from '#core';
import { until } from './hub.ts';

export const eras = ['2025', '2026'] as const;
/** MCP revision of a client: 2025-11-25, which has sessions, or 2026-07-28, which has none. */
export type Era = (typeof eras)[number];

/** How a client answers requests of servers. With `false` the client does not declare the capability. */
export type Handlers = {
  readonly sampling?: ((prompt: string) => string | Promise<string>) | false;
  readonly elicitation?: ((question: Question) => Answer | Promise<Answer>) | false;
  readonly roots?: readonly string[] | false;
};

/** A question of a server to the user: a form, or a page to visit if it has a `url`. */
type Question = { readonly message: string; readonly url: string | undefined };

type Answer = {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string>;
};

/** A notification that the client received. */
type Heard = { readonly method: string; readonly params: Record<string, unknown> };

type CallOptions = {
  readonly onProgress?: (progress: number, total: number | undefined) => void;
  readonly signal?: AbortSignal;
};

/** A client of the official SDK for one MCP revision, as far as the tests use it. */
export type EraClient = AsyncDisposable & {
  readonly era: Era;
  /** Methods of the requests of servers that the client has answered, in order. */
  readonly asked: readonly string[];
  /** Notifications that the client received, except those of progress. */
  readonly heard: readonly Heard[];
  /** Empties the lists `asked` and `heard`. */
  forget(): void;
  /** Waits for a notification whose params contain `part`. */
  hears(method: string, part?: string): Promise<Heard>;
  /** Calls a tool. Resolves with the texts of the result, joined, after `error: ` if the tool failed. */
  call(tool: string, args?: Record<string, unknown>, options?: CallOptions): Promise<string>;
  toolNames(): Promise<readonly string[]>;
  resourceUris(): Promise<readonly string[]>;
  promptNames(): Promise<readonly string[]>;
  /** Gets a prompt. Resolves with the text of its first message. */
  prompt(name: string, args?: Record<string, string>): Promise<string>;
  /** Reads a resource. Resolves with its text. */
  read(uri: string): Promise<string>;
  complete(prompt: string, argument: string, value: string): Promise<readonly string[]>;
  /** Subscribes to changes of the list of tools, and of a resource if `uri` is given. */
  subscribe(uri?: string): Promise<{ stop(): Promise<void> }>;
  /** Sets the minimum level of log messages. */
  logFrom(level: 'debug' | 'info' | 'warning'): Promise<void>;
  /** Pings the server. Throws in 2026-07-28, which has no ping. */
  ping(): Promise<void>;
  /** Notifies the server that the roots changed. Throws in 2026-07-28, which has no such notification. */
  rootsChanged(): Promise<void>;
};

/** Server to connect to: a URL for streamable HTTP, or the command line of a server to start over stdio. */
type Target =
  | string
  | { readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> };

const logLevelKey = 'io.modelcontextprotocol/logLevel';

/** Accepts each question of a server at once, with the name Ada in forms. */
export const oblige = ({ url }: Question): Answer =>
  url === undefined ? { action: 'accept', content: { name: 'Ada' } } : { action: 'accept' };

/** Answers requests of servers at once: sampling with an echo, questions as Ada, roots with one folder. */
const obliging = {
  sampling: (prompt: string) => `echo of ${prompt}`,
  elicitation: oblige,
  roots: ['file:///home/ada'],
} satisfies Handlers;

/** Connects the official client of an MCP revision. Handlers of `obliging` replace those that are missing. */
export async function connectEra(
  era: Era,
  target: Target,
  given: Handlers = {},
  name = 'agenthub-tests',
): Promise<EraClient> {
  const answers = createAnswers({ ...obliging, ...given });
  return await (era === '2025' ? connect2025 : connect2026)(target, answers, name);
}

/** Resolves with the error that a promise rejects with; MCP errors have a code. Fails if it does not reject. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ readonly code: unknown; readonly message: string; readonly data: unknown }> {
  try {
    assert.fail(`was not refused: ${JSON.stringify(await promise)}`);
  } catch (error) {
    if (error instanceof assert.AssertionError || !(error instanceof Error)) throw error;
    return {
      code: 'code' in error ? error.code : undefined,
      message: error.message,
      data: 'data' in error ? error.data : undefined,
    };
  }
}

type Answers = ReturnType<typeof createAnswers>;

function createAnswers({ sampling, elicitation, roots }: Handlers) {
  const asked: string[] = [];
  const heard: Heard[] = [];
  return {
    asked,
    heard,
    capabilities: {
      ...(sampling && { sampling: {} }),
      ...(elicitation && { elicitation: { form: {}, url: {} } }),
      ...(roots && { roots: { listChanged: true } }),
    },
    hear: async ({ method, params = {} }: { method: string; params?: object | undefined }) =>
      void heard.push({ method, params: { ...params } }),
    sampling:
      sampling &&
      (async ({ params }: { readonly params: unknown }) => {
        asked.push('sampling/createMessage');
        const text = await sampling(firstText(params, 'messages'));
        return {
          role: 'assistant' as const,
          model: 'none',
          content: { type: 'text' as const, text },
        };
      }),
    elicitation:
      elicitation &&
      (async ({ params }: { readonly params: { message: string } }) => {
        asked.push('elicitation/create');
        const url = 'url' in params ? String(params.url) : undefined;
        return { ...(await elicitation({ message: params.message, url })) };
      }),
    roots:
      roots &&
      (async () => {
        asked.push('roots/list');
        return { roots: roots.map(uri => ({ uri })) };
      }),
  };
}

async function connect2025(target: Target, answers: Answers, name: string): Promise<EraClient> {
  const client = new ClientOf2025(
    { name, version: '1.0.0' },
    { capabilities: answers.capabilities },
  );
  if (answers.sampling) client.setRequestHandler(CreateMessageRequestSchema, answers.sampling);
  if (answers.elicitation) client.setRequestHandler(ElicitRequestSchema, answers.elicitation);
  if (answers.roots) client.setRequestHandler(ListRootsRequestSchema, answers.roots);
  client.fallbackNotificationHandler = answers.hear;
  const transport =
    typeof target === 'string'
      ? new HttpOf2025(new URL(target))
      : new StdioOf2025({ ...commandOf(target), stderr: 'inherit' });
  await client.connect(transport);
  return {
    ...over('2025', client, answers),
    async [Symbol.asyncDispose]() {
      if (transport instanceof HttpOf2025) await transport.terminateSession();
      await client.close();
    },
    async call(tool, args = {}, { onProgress, signal } = {}) {
      return textOf(
        await client.callTool({ name: tool, arguments: args }, undefined, {
          ...(onProgress && { onprogress: ({ progress, total }) => onProgress(progress, total) }),
          ...(signal && { signal }),
        }),
      );
    },
    async subscribe(uri) {
      if (uri !== undefined) await client.subscribeResource({ uri });
      return {
        async stop() {
          if (uri !== undefined) await client.unsubscribeResource({ uri });
        },
      };
    },
    logFrom: async level => void (await client.setLoggingLevel(level)),
  };
}

async function connect2026(target: Target, answers: Answers, name: string): Promise<EraClient> {
  const client = new ClientOf2026(
    { name, version: '1.0.0' },
    {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
      capabilities: answers.capabilities,
    },
  );
  if (answers.sampling) client.setRequestHandler('sampling/createMessage', answers.sampling);
  if (answers.elicitation) client.setRequestHandler('elicitation/create', answers.elicitation);
  if (answers.roots) client.setRequestHandler('roots/list', answers.roots);
  client.fallbackNotificationHandler = answers.hear;
  await client.connect(
    typeof target === 'string'
      ? new StreamableHTTPClientTransport(new URL(target))
      : new StdioOf2026({ ...commandOf(target), stderr: 'inherit' }),
  );
  let level: string | undefined;
  return {
    ...over('2026', client, answers),
    async call(tool, args = {}, { onProgress, signal } = {}) {
      return textOf(
        await client.callTool(
          {
            name: tool,
            arguments: args,
            ...(level !== undefined && { _meta: { [logLevelKey]: level } }),
          },
          {
            ...(onProgress && {
              onprogress: ({ progress, total }) => onProgress(progress, total),
            }),
            ...(signal && { signal }),
          },
        ),
      );
    },
    async subscribe(uri) {
      const subscription = await client.listen({
        toolsListChanged: true,
        ...(uri !== undefined && { resourceSubscriptions: [uri] }),
      });
      return { stop: () => subscription.close() };
    },
    async logFrom(wanted) {
      level = wanted;
    },
  };
}

/** Methods that are the same in both official clients. */
type Common = {
  listTools(): Promise<{ tools: readonly { name: string }[] }>;
  listResources(): Promise<{ resources: readonly { uri: string }[] }>;
  listPrompts(): Promise<{ prompts: readonly { name: string }[] }>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<unknown>;
  readResource(params: { uri: string }): Promise<unknown>;
  complete(params: {
    ref: { type: 'ref/prompt'; name: string };
    argument: { name: string; value: string };
  }): Promise<{ completion: { values: readonly string[] } }>;
  ping(): Promise<unknown>;
  sendRootsListChanged(): Promise<void>;
  close(): Promise<void>;
};

function over(era: Era, client: Common, { asked, heard }: Answers) {
  return {
    era,
    asked,
    heard,
    forget() {
      asked.length = 0;
      heard.length = 0;
    },
    async hears(method: string, part = '') {
      const find = () =>
        heard.find(
          ({ method: told, params }) => told === method && JSON.stringify(params).includes(part),
        );
      await until(
        () => find() !== undefined,
        () => JSON.stringify(heard),
      );
      const found = find();
      assert.ok(found);
      return found;
    },
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    resourceUris: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    promptNames: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    prompt: async (name: string, args?: Record<string, string>) =>
      firstText(await client.getPrompt({ name, ...(args && { arguments: args }) }), 'messages'),
    async read(uri: string) {
      const [first] = listIn(await client.readResource({ uri }), 'contents');
      return isObject(first) ? String(first['text']) : '';
    },
    complete: async (prompt: string, argument: string, value: string) =>
      (
        await client.complete({
          ref: { type: 'ref/prompt', name: prompt },
          argument: { name: argument, value },
        })
      ).completion.values,
    ping: async () => void (await client.ping()),
    rootsChanged: () => client.sendRootsListChanged(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const commandOf = ({ args, env = {} }: Exclude<Target, string>) => ({
  command: process.execPath,
  args: [...args],
  env,
});

function listIn(value: unknown, key: string): readonly unknown[] {
  const list = isObject(value) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}

function firstText(value: unknown, key: string): string {
  const [first] = listIn(value, key);
  const content = isObject(first) ? first['content'] : undefined;
  return isObject(content) ? String(content['text']) : '';
}

function textOf(result: unknown): string {
  const texts = listIn(result, 'content').map(part => (isObject(part) ? String(part['text']) : ''));
  const failed = isObject(result) && result['isError'] === true;
  return `${failed ? 'error: ' : ''}${texts.join('')}`;
}
