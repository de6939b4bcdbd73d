import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { call, until } from '../../contracts/recorder.ts';
import { against, answer, errorOf, json, stream } from './scene.ts';

describe('a stream that breaks', () => {
  test('is resumed after its last event, at the time that the server sets', () => {
    const taken: unknown[] = [];
    return against(
      (request, response, { id }) => {
        if (request.method === 'POST') {
          stream(response, 'id: e1\nretry: 10\ndata:\n\n');
          return response.end();
        }
        taken.push(request.headers['last-event-id']);
        if (taken.length === 1) {
          stream(response, 'id: e2\ndata: {"jsonrpc":"2.0","method":"between"}\n\n');
          // Destroys the connection, so that the stream has no proper end.
          return setImmediate(() => response.destroy());
        }
        stream(response, `id: e3\ndata: ${answer(id ?? 1, { resumed: true })}\n\n`);
        return response.end();
      },
      async ({ channel, heard }) => {
        channel.send(call(1, 'tools/call'));
        assert.match(await heard.answer(1), /"resumed":true/);
        assert.equal((await heard.notifications('between', 1)).length, 1);
        assert.deepEqual(taken, ['e1', 'e2']);
      },
    );
  });

  test('is resumed after an event whose id is not ASCII', () =>
    against(
      (request, response, { id }) => {
        const last = Buffer.from(String(request.headers['last-event-id']), 'latin1').toString();
        stream(
          response,
          request.method === 'POST'
            ? 'id: é1€\nretry: 1\ndata:\n\n'
            : `id: é2\ndata: ${answer(id ?? 1, { resumed: last })}\n\n`,
        );
        response.end();
      },
      async ({ channel, heard }) => {
        channel.send(call(1, 'tools/call'));
        assert.match(await heard.answer(1), /"resumed":"é1€"/);
      },
    ));

  test('is resumed after a minimum delay, whatever the server sets', () => {
    const takenMs: number[] = [];
    return against(
      (request, response) => {
        if (request.method === 'GET') takenMs.push(performance.now());
        // Each event counts as a success, so the attempts never end.
        stream(response, `id: e${takenMs.length}\nretry: 0\ndata:\n\n`);
        response.end();
      },
      async ({ channel }) => {
        channel.send(call(1, 'tools/call'));
        await until(() => takenMs.length >= 3, 'three attempts');
        const [first = 0, , third = 0] = takenMs;
        assert.ok(third - first > 150, `two pauses took ${third - first} ms`);
      },
    );
  });

  test('is given up after some attempts without a message', () => {
    let attempts = 0;
    return against(
      (request, response) => {
        if (request.method === 'POST') stream(response, 'id: e1\nretry: 1\ndata:\n\n');
        else {
          attempts++;
          stream(response);
        }
        response.end();
      },
      async ({ channel, heard }) => {
        channel.send(call(1, 'tools/call'));
        assert.match((await errorOf(heard, 1)).message, /did not take up its stream again/);
        assert.equal(attempts, 3);
      },
    );
  });

  test('is opened again if it is the standing stream', () => {
    let opened = 0;
    return against(
      (request, response) => {
        if (request.method !== 'GET') {
          response.writeHead(202).end();
          return;
        }
        opened++;
        stream(response, `data: {"jsonrpc":"2.0","method":"said","params":{"time":${opened}}}\n\n`);
        if (opened < 5) response.end();
      },
      async ({ channel, heard }) => {
        channel.send(call(undefined, 'notifications/initialized'));
        assert.match(String((await heard.notifications('said', 5)).at(-1)), /"time":5/);
      },
    );
  });

  test('is not requested again if the server has none', () => {
    let asked = 0;
    return against(
      (request, response, { id }) => {
        if (request.method === 'GET') {
          asked++;
          response.writeHead(405).end();
        } else if (id === undefined) response.writeHead(202).end();
        else json(response, { jsonrpc: '2.0', id, result: {} });
      },
      async ({ channel, heard }) => {
        channel.send(call(undefined, 'notifications/initialized'));
        await until(() => asked === 1, 'the question');
        channel.send(call(1, 'ping'));
        await heard.answer(1);
        assert.equal(asked, 1);
      },
    );
  });
});

test('a stream is not read while the channel is paused, and loses nothing', () => {
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  return against(
    async (_request, response, { id }) => {
      if (id === 2) return json(response, { jsonrpc: '2.0', id: 2, result: {} });
      stream(response, 'data: {"jsonrpc":"2.0","method":"before"}\n\n');
      await held;
      response.write('data: {"jsonrpc":"2.0","method":"meanwhile"}\n\n');
      return response.end(`data: ${answer(id ?? 1, { whole: true })}\n\n`);
    },
    async ({ channel, heard }) => {
      channel.pause?.();
      channel.send(call(1, 'tools/call'));
      await heard.notifications('before', 1);
      hold();
      channel.send(call(2, 'tools/call'));
      await heard.answer(2);
      assert.deepEqual(
        heard.messages.map(({ kind }) => kind),
        ['answer', 'notification', 'answer'],
      );
      channel.resume?.();
      await heard.notifications('meanwhile', 1);
      assert.match(await heard.answer(1), /"whole":true/);
    },
  );
});
