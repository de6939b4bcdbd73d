import { once } from 'node:events';
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { isObject } from '#core';
import { freePort } from '#helpers/port';

/** A request that the double received. */
type OpenAiRequest = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly [key: string]: unknown };
  /** True if the client disconnected before the answer was complete. */
  readonly isAbandoned: boolean;
};

/** Answer of the endpoint: a text, a reply with tool calls, or a raw answer. */
export type OpenAiReply =
  | string
  | {
      readonly text?: string;
      readonly toolCalls?: readonly {
        readonly id: string;
        readonly name: string;
        /** Arguments as JSON, in the chunks in which they are streamed. */
        readonly arguments: readonly string[];
      }[];
      readonly finishReason?: string;
      readonly hasUsage?: boolean;
      /** False: answer with one JSON value, like an endpoint that does not stream. */
      readonly isStream?: boolean;
    }
  /** A raw answer. */
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly raw: string;
    }
  /** Raw SSE events; without `[DONE]` the stream just ends. */
  | { readonly events: readonly string[]; readonly isReset?: boolean };

type OpenAiDouble = AsyncDisposable & {
  /** Base URL of the API. */
  readonly url: string;
  received(): readonly OpenAiRequest[];
};

/** Starts an endpoint of OpenAI's chat API on 127.0.0.1. If `key` is given, requests without it are refused. */
export async function startOpenAi(
  script: (request: OpenAiRequest, at: number) => OpenAiReply | Promise<OpenAiReply>,
  { key, models = ['gpt-x'] }: { readonly key?: string; readonly models?: readonly string[] } = {},
): Promise<OpenAiDouble> {
  const received: (Omit<OpenAiRequest, 'isAbandoned'> & { isAbandoned: boolean })[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const parsed: unknown = JSON.parse((await textOf(request)) || '{}');
      const body = isObject(parsed) ? parsed : {};
      const path = request.url ?? '';
      const own = { path, headers: request.headers, body, isAbandoned: false };
      const at = received.push(own) - 1;
      response.on('close', () => void (own.isAbandoned = !response.writableEnded));
      // `/props` of llama-server is not below `/v1`.
      if (!['/v1/chat/completions', '/v1/models', '/props'].includes(path))
        return sendError(response, 404, 'Not Found');
      if (key !== undefined && request.headers.authorization !== `Bearer ${key}`)
        return sendError(response, 401, `Incorrect API key: ${request.headers.authorization}`);
      if (path === '/v1/models') {
        const data = models.map(id => ({ id, object: 'model', created: 0, owned_by: 'double' }));
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ object: 'list', data }));
        return;
      }
      send(response, String(body['model']), body, await script(own, at));
    })();
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${port}/v1`,
    received: () => received,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const errorType = 'invalid_request_error';

function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: errorType, param: null, code: null } }));
}

function send(
  response: ServerResponse,
  model: string,
  body: { readonly [key: string]: unknown },
  reply: OpenAiReply,
): void {
  if (typeof reply === 'object' && 'raw' in reply) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.raw);
    return;
  }
  const sse = { 'content-type': 'text/event-stream; charset=utf-8' };
  if (typeof reply === 'object' && 'events' in reply) {
    response.writeHead(200, sse);
    const text = reply.events.map(event => `data: ${event}\n\n`).join('');
    response.write(text, () => {
      if (reply.isReset) response.socket?.resetAndDestroy();
      else response.end();
    });
    return;
  }
  const {
    text = '',
    toolCalls = [],
    ...rest
  } = typeof reply === 'string' ? { text: reply } : reply;
  const finish = rest.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop');
  const head = { id: 'chatcmpl-1', created: 1_790_000_000, model };
  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
  if (rest.isStream === false) {
    const calls = toolCalls.map(({ id, name, arguments: pieces }) => ({
      id,
      type: 'function',
      function: { name, arguments: pieces.join('') },
    }));
    const message = {
      role: 'assistant',
      content: text || null,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    return;
  }
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  const words = text === '' ? [] : text.split(/(?<=\s)/);
  const chunks: readonly object[] = [
    chunk({ role: 'assistant', content: '' }),
    ...words.map(content => chunk({ content })),
    ...toolCalls.flatMap(({ id, name, arguments: pieces }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces.map(piece => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finish),
    ...(body['stream_options'] && rest.hasUsage !== false
      ? [{ ...head, object: 'chat.completion.chunk', choices: [], usage }]
      : []),
  ];
  response.writeHead(200, sse);
  // Some endpoints send SSE comments to keep the connection alive.
  response.end(
    `: ping\n\n${chunks.map(one => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`,
  );
}
