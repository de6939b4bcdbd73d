import assert from 'node:assert/strict';
import type http from 'node:http';
import { describe, test } from 'vitest';
import { silent, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRemoteRuntime } from '#runtimes/remote';
import { call, record } from '../../contracts/recorder.ts';
import { specOf } from '../docker/hub.ts';
import { createTestRuntime, launchRemote } from './launch.ts';
import { against, errorOf, json } from './scene.ts';
import { serve } from './serve.ts';

describe('an invalid entry', () => {
  test('is refused before anything is sent, without showing a value', async () => {
    for (const url of ['ftp://host/mcp', 'host/mcp', ''])
      await assert.rejects(launchRemote(url), { code: 'HUB_LAUNCH_INVALID', message: /http/ });
    await assert.rejects(
      launchRemote('http://127.0.0.1/', { headers: { Authorization: 'Bearer secret\n' } }),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'HUB_LAUNCH_INVALID');
        assert.match(error.message, /"Authorization"/);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  });

  test('is refused by the names and values of its headers, and so is a server of another kind', async () => {
    for (const headers of [{ 'a b': 'x' }, { '': 'x' }, { 'x-key': '→' }])
      await assert.rejects(launchRemote('http://127.0.0.1/', { headers }), {
        code: 'HUB_LAUNCH_INVALID',
        message: /"headers" has an entry ".*" that HTTP does not allow: look for line breaks/,
      });
    const events = { stderr() {}, progress() {} };
    const { signal } = new AbortController();
    await assert.rejects(createTestRuntime().launch(specOf('tested', {}), events, signal), {
      code: 'HUB_INTERNAL',
      message: 'tested is not remote but docker',
    });
  });

  test('is refused if it is the hub itself, whose tools would grow endlessly', async () => {
    const needs = { clock: systemClock, log: silent, random: () => 0 };
    const runtime = createRemoteRuntime({}, { ...needs, hubUrl: () => 'http://localhost:9090' });
    const own = [
      'http://localhost:9090/mcp',
      'http://127.0.0.1:9090/mcp/',
      'http://LOCALHOST:9090/mcp/@work',
      'http://[::1]:9090/sse',
      'http://0.0.0.0:9090/mcp/tested?x=1',
    ];
    for (const url of own)
      await assert.rejects(launchRemote(url, { runtime }), {
        code: 'HUB_LAUNCH_INVALID',
        message:
          /^tested: "url" is the address of this hub itself, which would list its own tools again and again\. Remove the entry$/,
      });
    const others = [
      'http://localhost:9091/mcp',
      'https://localhost:9090/mcp',
      'http://host:9090/mcp',
      'http://localhost:9090/mcp/other',
      'http://localhost:9090/elsewhere',
    ];
    for (const url of others) await launchRemote(url, { runtime });
    const deaf = createRemoteRuntime({}, { ...needs, hubUrl: () => undefined });
    await launchRemote('http://localhost:9090/mcp', { runtime: deaf });
  });

  test('is not checked once its start is cancelled', async () => {
    await assert.rejects(launchRemote('no url', { signal: AbortSignal.abort() }), {
      code: 'HUB_CALL_CANCELLED',
      message: 'the start of tested was cancelled',
    });
  });
});

test('remote servers can always be launched, and need no options', async () => {
  const needs = { clock: systemClock, log: silent, random: () => 0 };
  const runtime = createRemoteRuntime({}, needs);
  assert.equal(runtime.kind, 'remote');
  assert.equal((await runtime.probe(new AbortController().signal)).healthy, true);
});

describe('an instance', () => {
  test('has an address without credentials, and uses no resources of this machine', async () => {
    const instance = await launchRemote('http://user:password@127.0.0.1:1/mcp?key=secret');
    assert.deepEqual(instance.about, { url: 'http://127.0.0.1:1/mcp' });
    assert.equal(await instance.usage(), undefined);
  });

  test('sends the headers of its entry, but those of the protocol take precedence in any case', async () => {
    const seen: http.IncomingHttpHeaders[] = [];
    const server = await serve((request, response) => {
      seen.push(request.headers);
      json(response, { jsonrpc: '2.0', id: 1, result: {} });
    });
    const headers = { 'X-Key': 'a', 'Content-Type': 'text/plain', ACCEPT: 'text/html' };
    const instance = await launchRemote(server.url, { headers });
    const heard = record(instance.channel);
    instance.channel.send(call(1, 'ping'));
    await heard.answer(1);
    assert.equal(seen[0]?.['x-key'], 'a');
    assert.equal(seen[0]?.['content-type'], 'application/json');
    assert.match(String(seen[0]?.accept), /^application\/json, text\/event-stream$/);
    await instance.stop({ graceMs: 100 });
    await server.stop();
  });

  test('ends its session once when it is stopped', async () => {
    const farewells: unknown[] = [];
    await against(
      (request, response) => {
        farewells.push([request.method, request.headers['mcp-session-id']]);
        response.end();
      },
      async ({ instance }) => {
        const exit = await instance.stop({ graceMs: 10_000 });
        assert.deepEqual(exit, { detail: 'tested was disconnected' });
        assert.deepEqual(await instance.stop({ graceMs: 10_000 }), exit);
      },
    );
    assert.deepEqual(farewells, [['DELETE', 's1']]);
  });

  test('that is stopped waits no longer than its grace period for the end of its session', () => {
    const clock = createManualClock();
    const asked = Promise.withResolvers<void>();
    return against(
      () => asked.resolve(),
      async ({ instance }) => {
        const stopped = instance.stop({ graceMs: 1000 });
        await asked.promise;
        clock.advance(999);
        const first = await Promise.race([stopped, new Promise(resolve => setImmediate(resolve))]);
        assert.equal(first, undefined);
        clock.advance(1);
        assert.deepEqual(await stopped, { detail: 'tested was disconnected' });
      },
      { runtime: createRemoteRuntime({}, { clock, log: silent, random: () => 0 }) },
    );
  });

  test('whose server is unreachable does not end its session', async () => {
    const methods: unknown[] = [];
    await against(
      (request, response) => {
        methods.push(request.method);
        response.destroy();
      },
      async ({ instance: { channel, exited }, heard }) => {
        for (const id of [1, 2]) {
          channel.send(call(id, 'ping'));
          await errorOf(heard, id);
        }
        channel.send(call(3, 'ping'));
        await exited;
      },
    );
    assert.deepEqual(methods, ['POST', 'POST', 'POST']);
  });
});
