import assert from 'node:assert/strict';
import type http from 'node:http';
import type { Channel } from '#jsonrpc';
import type { Instance } from '#runtimes';
import { type Recorder, call, record } from '../../contracts/recorder.ts';
import { type LaunchOptions, launchRemote } from './launch.ts';
import { serve } from './serve.ts';

type Body = { readonly id?: number; readonly method: string; readonly params?: object };
/** Handles a request whose body has been read. The `method` of a GET is empty. */
export type Handler = (
  request: http.IncomingMessage,
  response: http.ServerResponse,
  body: Body,
) => unknown;

/** Initialized connection, and the messages received on it. */
type Scene = {
  readonly instance: Instance;
  readonly channel: Channel;
  readonly heard: Recorder;
  readonly url: string;
};

/** Runs a test against a server that answers `initialize` itself, and every other request by `handle`. */
export async function against(
  handle: Handler,
  run: (scene: Scene) => Promise<void>,
  options: LaunchOptions = {},
): Promise<void> {
  const server = await serve(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    const text = Buffer.concat(chunks).toString();
    const body: Body = text === '' ? { method: '' } : JSON.parse(text);
    if (body.method !== 'initialize') {
      await handle(request, response, body);
      return;
    }
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {} };
    json(response, { jsonrpc: '2.0', id: body.id, result }, { 'mcp-session-id': 's1' });
  });
  try {
    const instance = await launchRemote(server.url, options);
    const heard = record(instance.channel);
    instance.channel.send(call(0, 'initialize'));
    await heard.answer(0);
    await run({ instance, channel: instance.channel, heard, url: server.url });
    await instance.stop({ graceMs: 100 });
  } finally {
    await server.stop();
  }
}

/** Answers with a JSON body. */
export function json(
  response: http.ServerResponse,
  value: object,
  headers: object = {},
  status = 200,
) {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(value));
}

/** Starts an answer that is an event stream, which stays open. */
export function stream(response: http.ServerResponse, ...parts: readonly string[]) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const part of parts) response.write(part);
}

/** Returns the text of an answer with a result. */
export const answer = (id: number | undefined, result: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, result });

/** Returns the error in the answer to a request. */
export async function errorOf(heard: Recorder, id: number) {
  const { error } = JSON.parse(await heard.answer(id));
  assert.ok(error, 'it is no error');
  return error;
}
