import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import { test } from 'vitest';
import { patientFetch } from '#models';

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

test('a request is sent and answered as by fetch, by Node as it is installed', async () => {
  using server = await serve((request, response) => {
    response.writeHead(201, { 'content-type': 'text/plain', 'x-method': String(request.method) });
    request.pipe(response);
  });
  const response = await patientFetch(server.url, { method: 'POST', body: 'ping' });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get('x-method'), 'POST');
  assert.equal(await response.text(), 'ping');
});

test('the limit replaces that of Node for the headers and for each chunk', async () => {
  using silent = await serve(() => {});
  using stalled = await serve((_request, response) => void response.write('a'));
  const causeOf = (error: unknown) =>
    error instanceof Error && error.cause instanceof Error ? error.cause.name : String(error);
  const [headers, body] = await Promise.all([
    patientFetch(silent.url, undefined, 100).catch(causeOf),
    patientFetch(stalled.url, undefined, 100)
      .then(response => response.text())
      .catch(causeOf),
  ]);
  assert.deepEqual([headers, body], ['HeadersTimeoutError', 'BodyTimeoutError']);
});

test('without a limit only the signal ends a request', async () => {
  using silent = await serve(() => {});
  const ended = new AbortController();
  const answer = patientFetch(silent.url, { signal: ended.signal });
  ended.abort(new Error('enough'));
  await assert.rejects(answer, /enough/);
});
