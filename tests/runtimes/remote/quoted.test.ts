import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { call } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { against, errorOf, json } from './scene.ts';
import { serve } from './serve.ts';

/** Values that do not look like credentials: the hub recognizes them only because they are in the entry. */
const headers = { Authorization: 'Bearer plain words-of-mine', 'X-Thing': 'shed-bicycle' };
const secrets = /plain words-of-mine|shed-bicycle|green-kettle/;

describe('credentials of the entry that a server quotes are not sent to clients:', () => {
  test.for(['text/plain', 'application/json'])('in %s', type =>
    against(
      (request, response) => {
        const { authorization, 'x-thing': thing } = request.headers;
        const said = `no ${authorization} for ${String(thing)} at ${request.url ?? ''}`;
        if (type === 'application/json') return json(response, { error: said }, {}, 401);
        response.writeHead(401, { 'content-type': type }).end(said);
      },
      async ({ channel, heard }) => {
        channel.send(call(1, 'tools/call'));
        const { message } = await errorOf(heard, 1);
        assert.match(message, /It says: no \[redacted\] for \[redacted\] at .*\[redacted\]/);
        assert.doesNotMatch(message, secrets);
      },
      { headers, query: '?api_key=green-kettle' },
    ),
  );

  test('if its message is cut within one', () =>
    against(
      (request, response) => {
        const said = `${'x'.repeat(290)} ${request.headers.authorization}`;
        response.writeHead(500, { 'content-type': 'text/plain' }).end(said);
      },
      async ({ channel, heard }) => {
        channel.send(call(1, 'tools/call'));
        assert.doesNotMatch((await errorOf(heard, 1)).message, /Bearer|plain/);
      },
      { headers },
    ));

  test('in the reason behind its status, over the older transport as well', async () => {
    const server = await serve((request, response) => {
      response.writeHead(403, `no ${String(request.headers['x-thing'])}`).end();
    });
    try {
      await assert.rejects(launchRemote(server.url, { transport: 'sse', headers }), error => {
        assert.ok(error instanceof Error);
        assert.match(error.message, /refused the hub \(403 no \[redacted\]\)/);
        return true;
      });
    } finally {
      await server.stop();
    }
  });
});
