import assert from 'node:assert/strict';
import type http from 'node:http';
import { describe, test } from 'vitest';
import { HubError, silent, systemClock } from '#core';
import type { AccessTokens } from '#oauth';
import { createRemoteRuntime } from '#runtimes/remote';
import { call, record, until } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { errorOf, stream } from './scene.ts';
import { serve } from './serve.ts';

const required = () =>
  new HubError('HUB_LOGIN_REQUIRED', 'it wants a login', { data: { status: 401 } });

/** Creates tokens `token-1`, `token-2`, ... up to `last`, which cannot be renewed. */
function tokensUpTo(last: number): AccessTokens {
  let count = 1;
  return {
    current: async () => `token-${count}`,
    async renew() {
      if (count === last) throw required();
      count += 1;
      return `token-${count}`;
    },
    refused: required,
    missingScope: () => new HubError('HUB_LOGIN_REQUIRED', 'scope', { data: { status: 403 } }),
  };
}

const runtimeWith = (tokens: AccessTokens) =>
  createRemoteRuntime(
    { reconnect: { firstMs: 5, maxMs: 50, attempts: 3 } },
    { clock: systemClock, log: silent, random: () => 0, tokensOf: () => tokens },
  );

const launch = (url: string, transport: 'http' | 'sse', last: number, headers = {}) =>
  launchRemote(url, { transport, headers, runtime: runtimeWith(tokensUpTo(last)) });

describe('HTTP with SSE', () => {
  /** Starts a server that accepts one token for its stream and another for messages. */
  async function served(forStream: string, forMessages: string) {
    const heard: (string | undefined)[] = [];
    const streams: http.ServerResponse[] = [];
    const server = await serve((request, response) => {
      const { authorization } = request.headers;
      heard.push(authorization);
      const wanted = request.method === 'GET' ? forStream : forMessages;
      if (authorization !== `Bearer ${wanted}`) return response.writeHead(401).end();
      if (request.method === 'POST') return response.writeHead(202).end();
      streams.push(response);
      return stream(response, 'event: endpoint\ndata: /messages\n\n');
    });
    return { server, heard, streams };
  }

  test('sends the token with its stream and its messages, and refreshes it for both', async () => {
    const { server, heard } = await served('token-2', 'token-3');
    const instance = await launch(server.url, 'sse', 3);
    instance.channel.send(call(1, 'tools/list'));
    await until(() => heard.length === 4, 'the renewed message');
    assert.deepEqual(
      heard,
      ['token-1', 'token-2', 'token-2', 'token-3'].map(token => `Bearer ${token}`),
    );
    await instance.stop({ graceMs: 0 });
    await server.stop();
  });

  test('that refuses the stream requires a login', async () => {
    const { server } = await served('none', 'none');
    await assert.rejects(launch(server.url, 'sse', 2), { code: 'HUB_LOGIN_REQUIRED' });
    await server.stop();
  });

  test('that refuses messages requires a login: its connection ends', async () => {
    const { server } = await served('token-1', 'none');
    const { channel, exited } = await launch(server.url, 'sse', 1);
    record(channel);
    channel.send(call(1, 'tools/list'));
    const { error } = await channel.closed;
    assert.ok(error instanceof HubError && error.code === 'HUB_LOGIN_REQUIRED');
    await exited;
    await server.stop();
  });
});

describe.for(['http', 'sse'] as const)('a server over %s', transport => {
  test('whose response is a redirect gets no further request, and the token is not sent elsewhere', async () => {
    let foreign = 0;
    const elsewhere = await serve((_request, response) => {
      foreign += 1;
      response.end();
    });
    const server = await serve((_request, response) =>
      response.writeHead(307, { location: elsewhere.url }).end(),
    );
    const sent = async () => {
      const { channel } = await launch(server.url, transport, 2);
      const heard = record(channel);
      channel.send(call(1, 'initialize'));
      const error = await errorOf(heard, 1);
      throw new Error(JSON.stringify(error));
    };
    await assert.rejects(sent(), /redirects|307/);
    assert.equal(foreign, 0);
    await server.stop();
    await elsewhere.stop();
  });

  test('whose entry has an Authorization header gets no token', async () => {
    const heard: (string | undefined)[] = [];
    const server = await serve((request, response) => {
      heard.push(request.headers.authorization);
      response.writeHead(401).end();
    });
    const sent = async () => {
      const own = { Authorization: 'Basic abc' };
      const { channel } = await launch(server.url, transport, 2, own);
      const answers = record(channel);
      channel.send(call(1, 'initialize'));
      await errorOf(answers, 1);
    };
    await sent().catch(() => {});
    assert.deepEqual([...new Set(heard)], ['Basic abc']);
    await server.stop();
  });
});
