import assert from 'node:assert/strict';
import { createEmitter } from '#core';
import { createManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import { type Request, readMessage } from '#jsonrpc';
import type { ListKind } from '#servers';
import { z } from 'zod';
import { type BuiltinServer, defineTool } from '../../hub/builtin/builtin-server.ts';
import { createBuiltin } from '../../hub/builtin/server.ts';

type Handler = (signal: AbortSignal, progress: (message: string) => void) => Promise<string>;

/** Creates a built-in server with one tool and one resource, and a client that calls it. */
export function openBuiltin(handler: Handler = async () => 'done') {
  const clock = createManualClock();
  const { event: changed, fire } = createEmitter<ListKind>();
  const watches: (() => void)[] = [];
  const streamed: string[] = [];
  const builtin: BuiltinServer = {
    name: 'own',
    description: 'A server of a test.',
    tools: () => [
      defineTool({
        name: 'work',
        scope: 'call',
        title: 'Work',
        description: 'Works.',
        args: z.strictObject({}),
        annotations: {},
        handler: async (_args, { signal, progress }) => ({
          text: await handler(signal, progress),
          structured: {},
        }),
      }),
    ],
    prompts: () => [],
    resources: [
      {
        uri: 'own://thing',
        description: '{"uri":"own://thing","name":"thing"}',
        mimeType: 'text/plain',
        read: () => 'a thing',
        watch(update) {
          watches.push(update);
          return { [Symbol.dispose]: () => void watches.splice(watches.indexOf(update), 1) };
        },
      },
    ],
    changed,
  };
  const server = createBuiltin(builtin, () => 'own', { clock, hubVersion: '0' });
  const relay = (method: string, params: object = {}, timeoutMs = 1_000, token?: string) => {
    const message = { jsonrpc: '2.0', id: 7, method, params };
    const { answer, ...rest } =
      server.running?.upstream.relay(
        {
          request: read(message),
          edits: [],
          progressToken: undefined,
          answered: (answer): Buffer => answer.bytes,
          failed: error => error,
        },
        {
          owner,
          principal: caller,
          responseStream: { send: bytes => void streamed.push(bytes.toString()) },
          progressToken: token,
        },
        timeoutMs,
      ) ?? assert.fail('it runs');
    return { ...rest, answer: answer.then(bytes => JSON.parse(bytes.toString())) };
  };
  return { server, relay, clock, fire, watches, streamed };
}

const owner = { serverRequest() {}, notification() {}, hasOpenRequest: false };

function read(message: object): Request {
  const found = readMessage(Buffer.from(JSON.stringify(message)));
  return found.kind === 'request' ? found : assert.fail('no request');
}
