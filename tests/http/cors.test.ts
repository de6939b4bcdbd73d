import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'vitest';
import { createCors } from '../../hub/http/admission.ts';

const cors = createCors(['https://App.example']);

function requestOf(method: string, headers: Readonly<Record<string, string>>): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { method, headers });
}

function marked(origin: string | undefined, by = cors) {
  const request = requestOf('POST', origin === undefined ? {} : { origin });
  const response = new ServerResponse(request);
  by.mark(request, response);
  return { ...response.getHeaders() };
}

test('an allowed origin may read the answer, in any case', () => {
  assert.deepEqual(marked('https://app.EXAMPLE'), {
    vary: 'Origin',
    'access-control-allow-origin': 'https://app.EXAMPLE',
    'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
  });
});

test('another origin, and a request without one, may not, and caches know', () => {
  for (const origin of ['https://evil.example', 'null', undefined])
    assert.deepEqual(marked(origin), { vary: 'Origin' });
});

test('nothing is marked where no origin is allowed', () => {
  assert.deepEqual(marked('https://app.example', createCors([])), {});
});

test('a preflight is a question of an allowed origin', () => {
  const asking = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
  assert.ok(cors.isPreflight(requestOf('OPTIONS', asking)));
  assert.ok(!cors.isPreflight(requestOf('POST', asking)));
  assert.ok(!cors.isPreflight(requestOf('OPTIONS', { origin: 'https://app.example' })));
  assert.ok(!cors.isPreflight(requestOf('OPTIONS', { ...asking, origin: 'https://evil.example' })));
});

test('a preflight is told the headers of tool arguments that it asks for, and no others', () => {
  const allowed = (asked: string) =>
    cors.preflightHeaders(requestOf('OPTIONS', { 'access-control-request-headers': asked }))[
      'access-control-allow-headers'
    ] ?? '';
  const usual = allowed('');
  assert.match(usual, /mcp-session-id/);
  assert.equal(allowed('X-Other, Mcp-Param-Region'), `${usual}, mcp-param-region`);
  const many = Array.from({ length: 100 }, (_, index) => `mcp-param-${index}`).join(',');
  assert.equal(allowed(many).split(', ').length, usual.split(', ').length + 64);
});
