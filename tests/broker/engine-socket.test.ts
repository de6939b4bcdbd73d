import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createEngineSocket, readAll } from '../../hub/broker/engine-socket.ts';
import { startEngine } from '../doubles/engine.ts';

async function ask(answer: RequestListener) {
  await using engine = await startEngine(answer);
  return await createEngineSocket(engine.socketPath, systemClock).getJson('/networks/n');
}

describe('an answer of the engine', () => {
  test.each<[string, number, string, unknown]>([
    ['is JSON', 200, '{"Id":"n"}', { Id: 'n' }],
    ['is an error with a body', 404, '{"message":"no"}', { message: 'no' }],
    ['is not JSON', 500, '<html>', undefined],
    ['is empty', 204, '', undefined],
  ])('is returned with its status and its body if it %s', async (_, status, text, body) => {
    const answer = await ask((request, response) => {
      assert.equal(request.url, '/networks/n');
      response.writeHead(status).end(text);
    });
    assert.deepEqual(answer, { status, body });
  });

  test('has no broken character where one arrives in two pieces', async () => {
    const [first, second] = [Buffer.from('"ä"').subarray(0, 2), Buffer.from('"ä"').subarray(2)];
    const { body } = await ask((_, response) => response.write(first, () => response.end(second)));
    assert.equal(body, 'ä');
  });

  test.each<[string, RequestListener, RegExp]>([
    ['does not begin', (_, response) => response.destroy(), /socket hang up/],
    [
      'breaks off',
      (_, response) => response.write('{', () => response.destroy()),
      /aborted|ECONNRESET/,
    ],
    [
      'is too large',
      (_, response) => response.end(Buffer.alloc(16 * 2 ** 20 + 1, ' ')),
      /more than 16777216 bytes/,
    ],
  ])('that %s means that the engine is unreachable', async (_, answer, message) => {
    await assert.rejects(ask(answer), { code: 'HUB_ENGINE_UNREACHABLE', message });
  });
});

test.each<[string, number | undefined, Parameters<typeof startEngine>[0]]>([
  ['begin within a minute', undefined, () => {}],
  ['end within a minute', undefined, (_, response) => response.writeHead(200).flushHeaders()],
  ['begin within the time of its call', 600_000, () => {}],
])('an answer that does not %s is abandoned', async (_, limitMs, answer) => {
  const clock = createManualClock();
  const asked = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  await using engine = await startEngine((request, response) => {
    response.on('close', closed.resolve);
    answer(request, response);
    asked.resolve();
  });
  const read = createEngineSocket(engine.socketPath, clock).getJson('/networks/n', limitMs);
  await asked.promise;
  const ms = limitMs ?? 60_000;
  clock.advance(ms);
  await assert.rejects(read, {
    code: 'HUB_ENGINE_UNREACHABLE',
    message: new RegExp(`no answer within ${ms} ms$`),
  });
  await closed.promise;
});

test('an engine that does not listen is named by its socket', async () => {
  const engine = createEngineSocket('/no/such/engine.sock', systemClock);
  await assert.rejects(engine.getJson('/version'), {
    code: 'HUB_ENGINE_UNREACHABLE',
    message: /^the broker cannot reach the Docker engine at \/no\/such\/engine\.sock: .*ENOENT/,
  });
});

test('a message above the limit is refused, but read to its end, so that it can be answered', async () => {
  const refused = Promise.withResolvers<unknown>();
  await using engine = await startEngine((request, response) => {
    readAll(request, 10).catch(refused.resolve);
    request.on('end', () => response.end('"all was read"'));
  });
  const request = createEngineSocket(engine.socketPath, systemClock).open({
    method: 'POST',
    path: '/build',
  });
  const answered = new Promise<number | undefined>(resolve =>
    request.on('response', ({ statusCode }) => resolve(statusCode)),
  );
  request.end(Buffer.alloc(2 ** 20));
  assert.equal(await answered, 200);
  assert.deepEqual(await refused.promise, new RangeError('more than 10 bytes'));
});

test('a message of exactly the limit is read', async () => {
  const { promise: read, resolve, reject } = Promise.withResolvers<string>();
  await using engine = await startEngine((request, response) => {
    readAll(request, 3).then(resolve, reject);
    response.end();
  });
  createEngineSocket(engine.socketPath, systemClock)
    .open({ method: 'POST', path: '/build' })
    .end('abc');
  assert.equal(await read, 'abc');
});
