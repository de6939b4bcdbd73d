import assert from 'node:assert/strict';
import type http from 'node:http';
import { describe, test } from 'vitest';
import { call } from '../../contracts/recorder.ts';
import { type Handler, against, errorOf, json, stream } from './scene.ts';

describe('an unusable response becomes an error response', () => {
  const html = { 'content-type': 'text/html; charset=utf-8' };
  const cases: readonly (readonly [string, Handler, RegExp])[] = [
    [
      'a page of HTML',
      (_, response) => response.writeHead(200, html).end('<html>Welcome</html>'),
      /^tested at http:\/\/127\.0\.0\.1:\d+\/mcp answered 200 OK with text\/html.*Check that "url"/,
    ],
    [
      '401',
      (_, response) => json(response, { error: 'invalid_token' }, {}, 401),
      /refused the hub \(401 Unauthorized\)\. Check the credentials.*It says: invalid_token/,
    ],
    [
      '500 with a text',
      (_, response) =>
        response.writeHead(500, { 'content-type': 'text/plain' }).end('out of\n cheese'),
      /answered 500 Internal Server Error\. It says: out of cheese$/,
    ],
    [
      '400 with a JSON-RPC error without an id',
      (_, response) =>
        json(
          response,
          { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no' } },
          {},
          400,
        ),
      /answered 400 Bad Request\. It says: no$/,
    ],
    [
      'a redirect to another origin',
      (_, response) =>
        response.writeHead(307, { location: 'https://user:pw@elsewhere.test/mcp?key=1' }).end(),
      /redirects to https:\/\/elsewhere\.test\/mcp \(307 Temporary Redirect\)/,
    ],
    [
      'nothing',
      (_, response) => response.writeHead(202).end(),
      /took the request \(202\) and sent no/,
    ],
    [
      'no JSON',
      (_, r) => r.writeHead(200, { 'content-type': 'application/json' }).end('{'),
      /not an answer/,
    ],
    [
      'the answer to another request',
      (_, response) => json(response, { jsonrpc: '2.0', id: 99, result: {} }),
      /not an answer to the request/,
    ],
    [
      'a stream that ends early',
      (_, response) => {
        stream(response, 'data: {"jsonrpc":"2.0","method":"before"}\n\n');
        response.end();
      },
      /tested ended the stream before the answer/,
    ],
    [
      'a connection that breaks in the middle of JSON',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{"jsonrpc"', () => response.destroy());
      },
      /^tested broke its answer off: aborted$/,
    ],
    ['a connection that breaks before', (_, response) => response.destroy(), /cannot be reached/],
  ];
  test.for(cases)('%s', ([, handle, message]) =>
    against(handle, async ({ channel, heard }) => {
      channel.send(call(1, 'tools/list'));
      assert.match((await errorOf(heard, 1)).message, message);
    }),
  );

  test.for([200, 500])(
    'a broken response with status %i means that the server is unreachable',
    status =>
      against(
        (_, response) => {
          response.writeHead(status, {
            'content-type': 'application/json',
            'content-length': '100',
          });
          response.write('{"jsonrpc"', () => response.destroy());
        },
        async ({ channel, heard }) => {
          channel.send(call(1, 'tools/list'));
          assert.deepEqual((await errorOf(heard, 1)).data, {
            code: 'HUB_REMOTE_UNREACHABLE',
            server: 'tested',
            retryable: true,
          });
        },
      ),
  );

  test('a long message that is cut within a surrogate pair is quoted as valid Unicode', () =>
    against(
      (_, response) =>
        response.writeHead(500, { 'content-type': 'text/plain' }).end(`x${'😀'.repeat(200)}`),
      async ({ channel, heard }) => {
        channel.send(call(1, 'tools/call'));
        const { message } = await errorOf(heard, 1);
        assert.match(message, /It says: x(?:😀){149}\uFFFD\.\.\.$/u);
      },
    ));

  test('a JSON-RPC response with an error status is passed on unchanged', () =>
    against(
      (_, response, { id }) =>
        json(
          response,
          { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } },
          {},
          404,
        ),
      async ({ channel, heard }) => {
        channel.send(call(1, 'what/ever'));
        assert.equal((await errorOf(heard, 1)).code, -32601);
        channel.send(call(2, 'what/ever'));
        await heard.answer(2);
      },
    ));

  test('the secrets of the entry are not sent to the target of a redirect', () => {
    const seen: http.IncomingMessage[] = [];
    return against(
      (request, response) => {
        seen.push(request);
        response.writeHead(307, { location: '/elsewhere' }).end();
      },
      async ({ channel, heard }) => {
        channel.send(call(1, 'tools/list'));
        assert.match((await errorOf(heard, 1)).message, /redirects to .*\/elsewhere/);
        assert.ok(seen.every(({ url }) => url === '/mcp'));
      },
    );
  });
});
