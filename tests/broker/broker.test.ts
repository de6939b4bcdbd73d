import assert from 'node:assert/strict';
import { once } from 'node:events';
import { link, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { type RequestListener, type RequestOptions, type ServerResponse, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { type Log, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { startEngine } from '../doubles/engine.ts';
import { containerBody, owner } from './bodies.ts';
import { brokerOf, openBroker } from './scene.ts';

const start = () => AbortSignal.timeout(5000);
const anEngine: RequestListener = (_, response) => response.end('{}');
const inspected = JSON.stringify({
  Id: 'c0ffee',
  Config: { Labels: { 'io.agenthub.hub': owner.hubId } },
});

async function call(options: RequestOptions, body?: string) {
  const asked = request({ agent: false, ...options });
  asked.end(body);
  const [answer] = await once(asked, 'response');
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  const type: unknown = answer.headers['content-type'];
  return { status: answer.statusCode, type, text, message: JSON.parse(text || '{}').message };
}

/** Sends the head of a request, and returns everything that is answered. */
async function raw(socketPath: string, head: readonly string[]): Promise<string> {
  const socket = connect({ path: socketPath });
  socket.write([...head, 'Host: x', '', ''].join('\r\n'));
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

const upgrade = ['Connection: Upgrade', 'Upgrade: tcp'];

describe('the socket of the broker', () => {
  test('has mode 0660, and is removed at the stop', async () => {
    await using engine = await startEngine(anEngine);
    const { broker, socketPath } = brokerOf(engine);
    await broker.start(start());
    assert.equal((await stat(socketPath)).mode & 0o777, 0o660);
    await broker.stop();
    await assert.rejects(stat(socketPath), { code: 'ENOENT' });
  });

  test('of another broker that listens is not taken over', async () => {
    await using scene = await openBroker(anEngine);
    const second = brokerOf(scene.engine).broker;
    await assert.rejects(second.start(start()), {
      code: 'HUB_PORT_TAKEN',
      message: /another broker listens at .*\/broker\.sock\. Stop it or choose another path$/,
    });
    const { status } = await call({ socketPath: scene.socketPath, path: '/version' });
    assert.equal(status, 200);
  });

  test('replaces the socket of a broker that was killed', async () => {
    await using engine = await startEngine(anEngine);
    const { broker, socketPath } = brokerOf(engine);
    // A listener removes its socket file by one name only, so the second link remains, as after a kill.
    const killed = createServer().listen(`${socketPath}.killed`);
    await once(killed, 'listening');
    await link(`${socketPath}.killed`, socketPath);
    await new Promise(resolve => killed.close(resolve));
    await broker.start(start());
    assert.equal((await call({ socketPath, path: '/version' })).status, 200);
    await broker.stop();
  });

  test('does not replace a file', async () => {
    await using engine = await startEngine(anEngine);
    const { broker, socketPath } = brokerOf(engine);
    await writeFile(socketPath, 'notes');
    await assert.rejects(broker.start(start()), {
      code: 'HUB_PORT_TAKEN',
      message: /there is a file that is not a socket at/,
    });
    await rm(socketPath);
  });

  test('cannot be created in a folder that does not exist', async () => {
    const { broker } = brokerOf({ folder: '/no/such/folder', socketPath: '' });
    await assert.rejects(broker.start(start()), {
      code: 'HUB_LISTEN_REFUSED',
      message: /cannot listen at \/no\/such\/folder\/broker\.sock \(.*\)\. Its folder must exist/,
    });
  });
});

describe('an answer of the engine', () => {
  test('is passed on with its status and type, and without its other headers', async () => {
    const seen: unknown[] = [];
    await using scene = await openBroker((asked, response) => {
      seen.push(asked.url, asked.headers);
      response.writeHead(404, { 'Content-Type': 'text/x', 'X-Engine': 'yes' }).end('{}');
    });
    const headers = { 'X-Registry-Auth': 'e30=', Cookie: 'a' };
    const answer = await call({ socketPath: scene.socketPath, path: '/version', headers });
    assert.deepEqual([answer.status, answer.type, answer.text], [404, 'text/x', '{}']);
    assert.deepEqual(seen, ['/version', { host: 'engine', connection: 'close' }]);
  });

  test('begins before its first byte is there', async () => {
    const streams = Promise.withResolvers<ServerResponse>();
    await using scene = await openBroker((_, response) => {
      response.writeHead(200).flushHeaders();
      streams.resolve(response);
    });
    const asked = request({ socketPath: scene.socketPath, path: '/events' }).end();
    const [answer] = await once(asked, 'response');
    (await streams.promise).end('event');
    assert.equal(String(await once(answer, 'data')), 'event');
  });

  test('that breaks off is cut off for the client too', async () => {
    await using scene = await openBroker((_, response) =>
      response.write('[', () => response.destroy()),
    );
    const asked = request({ socketPath: scene.socketPath, path: '/networks' }).end();
    const [answer] = await once(asked, 'response');
    await assert.rejects(answer.toArray(), { code: 'ECONNRESET' });
  });
});

describe('a call that is not forwarded to the engine', () => {
  test.each<[string, RequestOptions, string | undefined, number, RegExp]>([
    ['is unknown', { path: '/swarm' }, undefined, 403, /does not admit "GET" "\/swarm"/],
    [
      'attaches without an upgrade',
      { path: '/containers/ours/attach', method: 'POST' },
      undefined,
      403,
      /\/attach" without "Connection: Upgrade"/,
    ],
    [
      'has too large a body',
      { path: `/containers/create?name=${owner.hubName}-x`, method: 'POST' },
      'x'.repeat(2 ** 20 + 1),
      403,
      /a body of more than 1048576 bytes/,
    ],
  ])('is refused if it %s', async (_, options, body, status, message) => {
    await using scene = await openBroker((_asked, response) => response.end(inspected));
    const answer = await call({ socketPath: scene.socketPath, ...options }, body);
    assert.equal(answer.status, status);
    assert.equal(answer.type, 'application/json');
    assert.match(answer.message, message);
  });

  test('is answered by the broker itself', async () => {
    await using scene = await openBroker((_, response) => response.end('{"Volumes":[]}'));
    const path = '/system/df?type=volume';
    const { status, text } = await call({ socketPath: scene.socketPath, path });
    assert.deepEqual([status, text], [200, '{"Volumes":[]}']);
  });

  test('gets an internal error without the reason, which is logged, if a bug makes it fail', async () => {
    const errors: unknown[] = [];
    const log: Log = { ...silent, error: fields => void errors.push(fields) };
    const readBuildContext = () => Promise.reject(new TypeError('a secret detail'));
    await using scene = await openBroker(anEngine, { log, readBuildContext });
    const query = new URLSearchParams({
      t: 'agenthub/npm-x:1',
      buildargs: '{"PACKAGE":"x"}',
      labels: '{"io.agenthub.base":"npm"}',
    });
    const options = { path: `/build?${query.toString()}`, method: 'POST' };
    const answer = await call({ socketPath: scene.socketPath, ...options });
    assert.equal(answer.status, 500);
    assert.equal(answer.message, 'internal error of the broker; see its log');
    assert.match(String(Object.values(Object(errors[0]))), /a secret detail/);
  });

  test('is abandoned if its body breaks off', async () => {
    const given = Promise.withResolvers<string | undefined>();
    const log: Log = { ...silent, warn: (_, message) => given.resolve(message) };
    await using scene = await openBroker(anEngine, { log });
    const path = `/containers/create?name=${owner.hubName}-x`;
    const { socketPath } = scene;
    const asked = request({ socketPath, path, method: 'POST', headers: { 'Content-Length': 9 } });
    asked.on('error', () => {});
    asked.write('{', () => asked.destroy());
    assert.equal(await given.promise, 'the body ended before it was complete');
  });

  test.each<[string, readonly string[], RegExp]>([
    [
      'to another protocol',
      ['GET /version HTTP/1.1', 'Connection: Upgrade', 'Upgrade: h2c'],
      /^HTTP\/1\.1 403 .*an upgrade to \\"h2c\\"/s,
    ],
    [
      'with a body',
      ['POST /containers/ours/attach HTTP/1.1', 'Content-Length: 2', ...upgrade],
      /^HTTP\/1\.1 403 .*a body before a raw stream/s,
    ],
    [
      'with a body in chunks',
      ['POST /containers/ours/attach HTTP/1.1', 'Transfer-Encoding: chunked', ...upgrade],
      /^HTTP\/1\.1 403 .*a body before a raw stream/s,
    ],
    ['of anything else', ['GET /version HTTP/1.1', ...upgrade], /^HTTP\/1\.1 403 .*an upgrade of/s],
    ['of a session', ['POST /session HTTP/1.1', ...upgrade], /^HTTP\/1\.1 403 .*\/session/s],
  ])('is refused if it upgrades %s', async (_, head, answer) => {
    await using scene = await openBroker((_asked, response) => response.end(inspected));
    assert.match(await raw(scene.socketPath, head), answer);
  });
});

test('an unreachable engine is named in the answer to a call and to a raw stream', async () => {
  await using scene = await openBroker(anEngine);
  const { socketPath, engine } = scene;
  await new Promise(resolve => engine.server.close(resolve));
  const { status, message } = await call({ socketPath, path: '/_ping' });
  assert.equal(status, 502);
  assert.match(message, /cannot reach the Docker engine at .*ENOENT/);
  const attach = ['POST /containers/abc/attach?stream=1 HTTP/1.1', ...upgrade];
  assert.match(await raw(socketPath, attach), /^HTTP\/1\.1 502 /);
});

describe('a client that disconnects', () => {
  test('ends its call at the engine, which might never end by itself', async () => {
    const ended = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    await using scene = await openBroker((_, response) => {
      response.on('close', ended.resolve);
      response.writeHead(200).flushHeaders();
      begun.resolve();
    });
    const asked = request({ socketPath: scene.socketPath, path: '/events' }).end();
    asked.on('error', () => {});
    await begun.promise;
    asked.destroy();
    await ended.promise;
  });

  test('while its call is being checked causes no call to the engine', async () => {
    const urls: (string | undefined)[] = [];
    const looking = Promise.withResolvers<ServerResponse>();
    await using scene = await openBroker((asked, response) => {
      urls.push(asked.url);
      if (asked.url === '/containers/ours/json') looking.resolve(response);
      else response.end('{}');
    });
    const { socketPath } = scene;
    const asked = request({ socketPath, path: '/containers/ours/wait', method: 'POST' }).end();
    asked.on('error', () => {});
    const answer = await looking.promise;
    const closed = new Promise<void>(resolve => asked.on('close', resolve));
    asked.destroy();
    await closed;
    // This call reaches the broker and the engine after all that was sent before it.
    assert.equal((await call({ socketPath, path: '/version' })).status, 200);
    answer.end(inspected);
    await once(answer, 'close');
    assert.equal((await call({ socketPath, path: '/version' })).status, 200);
    assert.deepEqual(urls, ['/containers/ours/json', '/version', '/version']);
  });

  test('from a creation leaves it counted until the engine has answered', async () => {
    /**
     * Resolves when the engine receives a creation. The engine lists no containers, does not report its data folder,
     * and answers creations only when the test does.
     */
    const creating = Promise.withResolvers<ServerResponse>();
    await using engine = await startEngine((asked, answer) => {
      asked.resume();
      if (asked.url?.startsWith('/containers/create')) creating.resolve(answer);
      else answer.end(asked.url === '/info' ? '{}' : '[]');
    });
    const root = join(engine.folder, 'root');
    await mkdir(join(root, 'inner'), { recursive: true });
    const { broker, socketPath } = brokerOf(engine, { roots: [root] });
    await broker.start(start());
    await using _broker = { [Symbol.asyncDispose]: () => broker.stop() };

    const create = (name: string, Source: string) => {
      const path = `/containers/create?name=${owner.hubName}-${name}`;
      const asked = request({ socketPath, method: 'POST', path });
      const mount = { Type: 'bind', Source, Target: '/x', ReadOnly: false };
      asked.end(JSON.stringify(containerBody({ Mounts: [mount] })));
      asked.on('error', () => {});
      return asked;
    };
    const gone = create('outer', root);
    const answer = await creating.promise;
    const closed = new Promise<void>(resolve => gone.on('close', resolve));
    gone.destroy();
    await closed;
    const refused = create('inner', join(root, 'inner'));
    const [{ statusCode }] = await once(refused, 'response');
    assert.equal(statusCode, 403);
    assert.equal(answer.closed, false, 'the engine is still waited for');
  });
});

test('a creation is answered although the engine leaves the list for an earlier one unanswered', async () => {
  const clock = createManualClock();
  const unanswered = Promise.withResolvers<void>();
  let lists = 0;
  await using scene = await openBroker(
    (asked, response) => {
      asked.resume();
      if (asked.url?.startsWith('/containers/create')) response.end('{"Id":"c0ffee"}');
      else if (lists++ > 0) response.end('[]');
      else unanswered.resolve();
    },
    { clock },
  );
  const create = (name: string) => {
    const path = `/containers/create?name=${owner.hubName}-${name}`;
    const options = { socketPath: scene.socketPath, method: 'POST', path };
    return call(options, JSON.stringify(containerBody()));
  };
  const first = create('first');
  await unanswered.promise;
  const second = create('second');
  clock.advance(60_000);
  assert.equal((await first).status, 502);
  assert.equal((await second).status, 200);
});

test('a stop ends raw streams and calls in progress', async () => {
  await using engine = await startEngine(
    (asked, response) => {
      if (asked.url === '/containers/ours/json') response.end(inspected);
      else response.writeHead(200).flushHeaders();
    },
    (_, socket) =>
      void socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'),
  );
  const { broker, socketPath } = brokerOf(engine);
  await broker.start(start());
  const asked = request({ socketPath, path: '/events' }).end();
  const [answer] = await once(asked, 'response');
  const stream = connect({ path: socketPath });
  stream.write(
    ['POST /containers/ours/attach HTTP/1.1', 'Host: x', ...upgrade, '', ''].join('\r\n'),
  );
  await once(stream, 'data');
  const ended = Promise.all([once(stream.resume(), 'close'), once(answer, 'error')]);
  await broker.stop();
  await ended;
});
