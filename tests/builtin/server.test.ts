import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, createEmitter } from '#core';
import { createManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import { type Request, readMessage } from '#jsonrpc';
import type { ListKind } from '#servers';
import { z } from 'zod';
import { type BuiltinServer, defineTool } from '../../hub/builtin/builtin-server.ts';
import { createBuiltin } from '../../hub/builtin/server.ts';

type Handler = (signal: AbortSignal, progress: (message: string) => void) => Promise<string>;

function open(handler: Handler = async () => 'done') {
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

/** Ends with its signal. */
const held = async (signal: AbortSignal): Promise<never> =>
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const work = { name: 'work', arguments: {} };

describe("a server of the hub's own", () => {
  test('answers initialize, discover and ping like any other', async () => {
    const { relay } = open();
    const { result } = await relay('initialize').answer;
    assert.deepEqual(result.serverInfo, { name: 'own', version: '0' });
    assert.ok(Array.isArray((await relay('server/discover').answer).result.supportedVersions));
    assert.deepEqual(await relay('ping').answer, { jsonrpc: '2.0', id: 7, result: {} });
  });

  test('answers each request in the era of the request', async () => {
    const { relay } = open();
    const legacy = await relay('resources/read', { uri: 'own://thing' }).answer;
    const contents = [{ uri: 'own://thing', mimeType: 'text/plain', text: 'a thing' }];
    assert.deepEqual(legacy.result, { contents });
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const modern = await relay('resources/read', { uri: 'own://thing', _meta }).answer;
    const cached = { ttlMs: 0, cacheScope: 'private' };
    assert.deepEqual(modern.result, { resultType: 'complete', contents, ...cached });
  });

  test('returns a progress token as the client wrote it', async () => {
    const { relay, streamed } = open(async (_signal, progress) => {
      progress('half');
      return 'done';
    });
    await relay('tools/call', work, 1_000, '12345678901234567890').answer;
    assert.deepEqual(streamed, [
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":12345678901234567890,"progress":1,"message":"half"}}',
    ]);
  });

  test.each([
    ['tools/call', { name: 'play' }, 'HUB_NAME_UNKNOWN'],
    ['prompts/get', { name: 'play' }, 'HUB_NAME_UNKNOWN'],
    ['resources/read', { uri: 'own://other' }, 'HUB_NAME_UNKNOWN'],
    ['tools/call', { ...work, task: {} }, 'HUB_REQUEST_INVALID'],
    ['tasks/list', {}, 'HUB_REQUEST_INVALID'],
  ])('refuses %s of %j', async (method, params, code) => {
    const { relay } = open();
    await assert.rejects(relay(method, params).answer, { code });
  });

  test('tells a model by a tool error why its call failed; a bug is not shown', async () => {
    const failing = open(async () => {
      throw new HubError('HUB_SERVER_UNKNOWN', 'no server is called "x"');
    });
    const { result } = await failing.relay('tools/call', work).answer;
    assert.deepEqual(result, {
      content: [{ type: 'text', text: 'no server is called "x"' }],
      isError: true,
    });
    const broken = open(async () => {
      throw new TypeError('a bug');
    });
    await assert.rejects(broken.relay('tools/call', work).answer, TypeError);
  });

  test('ends a call that is cancelled, and one that takes too long', async () => {
    const { relay, clock, server } = open(held);
    const cancelled = relay('tools/call', work);
    assert.equal(server.running?.upstream.inFlight(), 1);
    cancelled.cancel('no need');
    await assert.rejects(cancelled.answer, { code: 'HUB_CALL_CANCELLED', message: /no need/ });
    const late = relay('tools/call', work);
    clock.advance(1_000);
    await assert.rejects(late.answer, { code: 'HUB_CALL_TIMEOUT' });
    assert.equal(server.running?.upstream.inFlight(), 0);
  });

  test('announces that a list changed and that a watched resource was updated', () => {
    const { server, fire, watches } = open();
    const heard: unknown[] = [];
    server.listed(kind => void heard.push(kind));
    server.notified(({ bytes }) => void heard.push(JSON.parse(bytes.toString()).params));
    fire('tool');
    server.watch({ resources: ['own://thing', 'own://other'], tasks: [] });
    server.watch({ resources: ['own://thing'], tasks: [] });
    assert.equal(watches.length, 1);
    watches[0]?.();
    assert.deepEqual(heard, ['tool', { uri: 'own://thing' }]);
    server.watch({ resources: [], tasks: [] });
    assert.equal(watches.length, 0);
  });

  test('cannot be stopped', async () => {
    const { server } = open();
    await assert.rejects(server.stop(true), {
      code: 'HUB_REQUEST_INVALID',
      message: /own is part of the hub/,
    });
    assert.equal(server.status.state, 'running');
  });
});
