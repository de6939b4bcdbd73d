import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { createEmitter, systemClock } from '#core';
import { createDefinitions, createPins } from '#definitions';
import { createRecordingLog, ownerHeaders, startHub } from '#helpers/hub';
import { makeTempFolder } from '#helpers/temp-folder';
import { send } from '../../transports/raw.ts';

const echo = [{ name: 'echo' }];
const json = { 'content-type': 'application/json' };
const post = (url: string, body?: string | object, headers: Record<string, string> = json) =>
  send(url, {
    method: 'POST',
    headers: { ...ownerHeaders, ...(body !== undefined && headers) },
    ...(body !== undefined && { body }),
  });

describe('/health', () => {
  test('is 200 while the hub is usable, with the state of each server', async () => {
    await using hub = await startHub([
      ...echo,
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
      { name: 'idle', file: 'echo.mjs', autoStart: false },
    ]);
    const response = await send(`${hub.url}/health`);
    assert.equal(response.status, 200);
    const health = JSON.parse(await response.body());
    assert.equal(health.status, 'degraded');
    assert.equal(health.parts.engine.backend, 'process');
    assert.equal(typeof health.parts.engine.latency_ms, 'number');
    assert.equal(health.servers.echo.state, 'running');
    assert.equal(health.servers.broken.state, 'failed');
    assert.match(health.servers.broken.last_error, /exited with code 3/);
    assert.equal(health.servers.idle.state, 'stopped');
    assert.equal(health.servers.echo.backend, 'process');
    assert.equal(health.servers.echo.latency_ms, null, 'it was not measured');
    const one = await send(`${hub.url}/health/echo`);
    assert.equal(one.status, 200);
    const measured = await one.json();
    assert.deepEqual([measured['name'], measured['backend']], ['echo', 'process']);
    assert.equal(typeof measured['latency_ms'], 'number');
    const later = JSON.parse(await (await send(`${hub.url}/health`)).body());
    assert.equal(later.servers.echo.latency_ms, measured['latency_ms']);
  });

  test('of a server is 200 if a call reaches or starts it, and 503 otherwise', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
      { name: 'idle', file: 'echo.mjs', autoStart: false },
      { name: 'ended', file: 'echo.mjs', autoStart: false },
      { name: 'off', file: 'echo.mjs', enabled: false, autoStart: false },
    ]);
    await post(`${hub.url}/servers/ended/stop`);
    const rows = [
      ['broken', 503, 'failed'],
      ['idle', 200, 'stopped'],
      ['ended', 503, 'stopped'],
      ['off', 503, 'stopped'],
    ] as const;
    for (const [name, status, state] of rows) {
      const response = await send(`${hub.url}/health/${name}`);
      assert.equal(response.status, status, name);
      const health = await response.json();
      assert.deepEqual([health['state'], health['backend']], [state, 'process'], name);
    }
    assert.equal((await post(`${hub.url}/mcp/idle/tools/list`, {})).status, 200);
  });

  test('is degraded while the lock file of definitions is not used, with the reason', async () => {
    const folder = makeTempFolder('health');
    const file = join(folder, 'hub.lock.json');
    const { log } = createRecordingLog();
    const definitions = createDefinitions(file, { clock: systemClock, log });
    const servers = { all: [], changed: createEmitter<undefined>().event };
    const needs = { clock: systemClock, log, redact: (text: string) => text };
    using pins = createPins({ ...needs, servers, definitions, configured: () => [] });
    await using hub = await startHub(echo, { pins });
    const health = async () => JSON.parse(await (await send(`${hub.url}/health`)).body());
    assert.deepEqual(await health().then(({ status, parts }) => [status, parts.pins]), [
      'ok',
      undefined,
    ]);
    await writeFile(file, 'damaged');
    await definitions.load();
    const { status, parts } = await health();
    assert.equal(status, 'degraded');
    assert.deepEqual([parts.pins.state, parts.pins.backend], ['degraded', 'files']);
    assert.match(parts.pins.detail, /hub\.lock\.json: Unexpected token .* Restore it from/);
  });

  test('is 503 if every server that should run has failed', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
    ]);
    const response = await send(`${hub.url}/health`);
    assert.equal(response.status, 503);
    assert.equal((await response.json())['status'], 'down');
  });
});

/** Response of a remote server to a ping: its status, and its JSON-RPC body, if it has one. */
type Ping = { readonly status: number; readonly says?: object };

/** Starts a server with sessions, whose response to pings is `ping.now`. */
async function remoteServer() {
  const ping: { now: Ping } = { now: { status: 200, says: { result: {} } } };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', chunk => (body += String(chunk)));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method } = JSON.parse(body);
      const json = (status: number, says: object) =>
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, ...says }));
      if (method === 'ping') {
        const { status, says } = ping.now;
        return says ? json(status, says) : response.writeHead(status).end();
      }
      if (method === 'server/discover')
        return json(200, { error: { code: -32601, message: 'no such method' } });
      if (method !== 'initialize') return response.writeHead(202).end();
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} };
      return json(200, { result });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : assert.fail('no port');
  return {
    ping,
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('the health of a remote server', () => {
  test('depends on an MCP response: an MCP error is healthy, a bare HTTP status is not', async () => {
    await using far = await remoteServer();
    await using hub = await startHub([{ name: 'far', url: far.url }]);
    const rows: readonly (readonly [Ping, number])[] = [
      [{ status: 200, says: { result: {} } }, 200],
      [{ status: 200, says: { error: { code: -32601, message: 'no ping' } } }, 200],
      [{ status: 404, says: { error: { code: -32601, message: 'no ping' } } }, 200],
      [{ status: 400 }, 503],
      [{ status: 401 }, 503],
      [{ status: 500 }, 503],
      [{ status: 200, says: { result: {} } }, 200],
    ];
    for (const [answer, status] of rows) {
      far.ping.now = answer;
      const response = await fetch(`${hub.url}/health/far`);
      assert.equal(response.status, status, JSON.stringify(answer));
      const health: { readonly last_error: string | null } = JSON.parse(await response.text());
      if (status === 503) assert.match(String(health.last_error), new RegExp(`${answer.status}`));
    }
  });
});
