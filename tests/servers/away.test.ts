import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { describe, test } from 'vitest';
import { type Code, HubError, systemClock } from '#core';
import { configOf, createRecordingLog, until, createTestEras } from '#helpers/hub';
import { freePort } from '#helpers/port';
import type { Instance } from '#runtimes';
import { createRemoteRuntime } from '#runtimes/remote';
import { toHubError } from '../../hub/runtimes/docker/engine/errors.ts';
import { type Server, createServer, describeServer, planLaunch } from '#servers';

/** Creates a server without lists that answers `initialize`, and accepts all other messages. */
function remoteServer(status = 200): HttpServer {
  return createHttpServer((request, response) => {
    let body = '';
    request.on('data', chunk => (body += String(chunk)));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      if (status !== 200) return response.writeHead(status).end();
      const { id, method } = JSON.parse(body);
      if (method !== 'initialize') return response.writeHead(202).end();
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} };
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
}

async function listen(server: HttpServer, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : assert.fail('no port');
}

async function close(server: HttpServer): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

/** Creates a supervised server, with a limit on its restarts that the test chooses. */
function supervise(
  name: string,
  launch: (signal: AbortSignal) => Promise<Instance>,
  maxRestarts = 0,
) {
  const { log, logged } = createRecordingLog();
  const server = createServer(
    { ...configOf({ name }), maxRestarts },
    {
      clock: systemClock,
      log,
      // The maximum jitter, which makes the waits before restarts as short as possible.
      random: () => 1,
      hubVersion: '0',
      eras: createTestEras(log),
      instances: { count: () => 0, isHeard: () => false },
      launch: (_config, _events, signal) => launch(signal),
    },
  );
  return { server, logged, [Symbol.asyncDispose]: () => server.close('stopping') };
}

function superviseRemote(port: number, transport: 'http' | 'sse' = 'http') {
  const runtime = createRemoteRuntime(
    {},
    { clock: systemClock, log: createRecordingLog().log, random: () => 1 },
  );
  const url = `http://127.0.0.1:${port}/mcp`;
  const config = {
    ...configOf({ name: 'far' }),
    launch: { kind: 'remote', transport, url, headers: {} },
  } as const;
  const spec = planLaunch(config, { auto: 'process', dataDir: '/nonexistent' });
  const events = { stderr() {}, progress() {} };
  return supervise('far', signal => runtime.launch(spec, events, signal));
}

async function refusalOf(server: Server): Promise<HubError> {
  const error = await server.ready().then(
    () => assert.fail('it answers'),
    (reason: unknown) => reason,
  );
  return error instanceof HubError ? error : assert.fail(String(error));
}

describe('a remote server that refuses connections', () => {
  for (const transport of ['http', 'sse'] as const)
    test(`over ${transport} is unreachable, logged once, and retried without end`, async () => {
      await using scene = superviseRemote(await freePort(), transport);
      const { server, logged } = scene;
      const told: string[] = [];
      using _ = server.changed(({ state }) => void told.push(state));
      const error = await refusalOf(server);
      assert.equal(error.code, 'HUB_REMOTE_UNREACHABLE');
      assert.match(error.message, /^far cannot be reached at \S+: .*ECONNREFUSED.*is right$/);
      assert.equal(error.data.retryable, true);
      assert.ok(Number(error.data.retryAfterMs) <= 500);
      assert.equal(describeServer(server)['state'], 'unreachable');
      assert.ok(describeServer(server)['retry_at']);
      await until(() => told.filter(state => state === 'unreachable').length === 3);
      assert.equal(server.restarts, 0);
      const warnings = logged.filter(({ level }) => level === 'warn');
      assert.deepEqual(
        warnings.map(({ message }) => /^far cannot .*, starting again in \d+ ms$/.test(message)),
        [true],
        'the same reason is said once',
      );
    });

  test('runs once it is up, is unreachable when it goes down, and recovers', async () => {
    const port = await freePort();
    await using scene = superviseRemote(port);
    const { server } = scene;
    server.start();
    await until(() => server.status.state === 'unreachable');
    const second = remoteServer();
    await listen(second, port);
    await until(() => server.status.state === 'running');
    await close(second);
    for (let call = 0; call < 3; call++)
      await server.running?.upstream.request('ping', {}, 1_000).catch(() => undefined);
    await until(() => server.status.state === 'unreachable');
    assert.match(server.lastError?.message ?? '', /^far is gone: it cannot be reached at /);
    const third = remoteServer();
    await listen(third, port);
    await until(() => server.status.state === 'running');
    await close(third);
  });

  test('with an HTTP error is not retried: it fails at once, and is logged once', async () => {
    const refusing = remoteServer(401);
    await using scene = superviseRemote(await listen(refusing, 0));
    const { server } = scene;
    const error = await refusalOf(server);
    assert.equal(error.code, 'HUB_SERVER_FAILED');
    assert.match(error.message, /^far has failed: the server at \S+ refused the hub \(401/);
    assert.equal(error.data.retryable, false);
    assert.equal(error.message.match(/\bfar\b/g)?.length, 2, 'once besides the path of the remedy');
    await close(refusing);
  });
});

describe('a launch that lacks something', () => {
  for (const code of [
    'HUB_ENGINE_UNREACHABLE',
    'HUB_REGISTRY_UNREACHABLE',
  ] as const satisfies readonly Code[])
    test(`with ${code} is retried without end`, async () => {
      let launches = 0;
      await using scene = supervise('files', async () => {
        launches++;
        throw new HubError(code, 'no answer');
      });
      const error = await refusalOf(scene.server);
      assert.equal(error.code, code);
      assert.match(error.message, /^files is out of reach: no answer$/);
      await until(() => launches === 3);
    });

  test('that the operator must correct is one error in the log, and is not retried', async () => {
    await using scene = supervise('files', async () => {
      throw new HubError('HUB_LAUNCH_INVALID', 'files: the folder /x is missing');
    });
    const error = await refusalOf(scene.server);
    assert.match(error.message, /^files has failed: the folder \/x is missing\. Start it again/);
    const lines = scene.logged.filter(({ level }) => level !== 'debug');
    assert.deepEqual(lines, [
      {
        level: 'error',
        fields: {},
        message: 'the server has failed: files: the folder /x is missing',
      },
    ]);
  });

  test.each([
    [403, 'the broker does not admit a mount', 1],
    [400, 'invalid mount config', 1],
    [500, 'no space left on device', 2],
  ])(
    'because of a refusal of the engine with %i (%s) makes %i starts',
    async (status, words, starts) => {
      const refused = new Error(`(HTTP code ${status}) unexpected - ${words}`);
      let launches = 0;
      await using scene = supervise(
        'files',
        async () => {
          launches++;
          throw toHubError(refused, 'create the container', 'here');
        },
        1,
      );
      scene.server.start();
      await until(() => scene.server.status.state === 'failed');
      assert.equal(launches, starts);
      assert.match(scene.server.lastError?.message ?? '', new RegExp(words));
    },
  );
});
