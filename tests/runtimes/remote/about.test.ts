import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Recorder, call, until } from '../../contracts/recorder.ts';
import { against, answer, json, stream } from './scene.ts';

const said = (method: string) => ({ jsonrpc: '2.0', method });
const event = (message: object) => `data: ${JSON.stringify(message)}\n\n`;

/** Returns the method of each received message, or `answer`, with the request that it relates to. */
const heardIn = ({ messages, about }: Recorder) =>
  messages
    .map((message, at) => [message.kind === 'answer' ? 'answer' : message.method, about[at]])
    .slice(1);

describe('the request that a message belongs to', () => {
  test('is that of the stream on which it arrived, also after the stream was resumed', () => {
    let taken = false;
    return against(
      (request, response, { id }) => {
        if (request.method === 'POST') {
          const asked = { ...said('roots/list'), id: 's' };
          stream(response, event(said('first')), event(asked), 'id: e1\nretry: 1\ndata:\n\n');
        } else {
          assert.equal(request.headers['last-event-id'], 'e1');
          taken = true;
          stream(response, event(said('second')), `data: ${answer(id ?? 7, {})}\n\n`);
        }
        return response.end();
      },
      async ({ channel, heard }) => {
        channel.send(call(7, 'tools/call'));
        await heard.answer(7);
        assert.ok(taken);
        assert.deepEqual(heardIn(heard), [
          ['first', '7'],
          ['roots/list', '7'],
          ['second', '7'],
          ['answer', '7'],
        ]);
      },
    );
  });

  test('is the one that was answered with JSON', () =>
    against(
      (_request, response, { id }) =>
        json(response, [said('first'), { jsonrpc: '2.0', id, result: {} }]),
      async ({ channel, heard }) => {
        channel.send(call(7, 'tools/call'));
        await heard.answer(7);
        assert.deepEqual(heardIn(heard), [
          ['first', '7'],
          ['answer', '7'],
        ]);
      },
    ));

  test('is unknown for messages on the standing stream', () =>
    against(
      (request, response) =>
        request.method === 'GET'
          ? stream(response, event(said('unasked')))
          : response.writeHead(202).end(),
      async ({ channel, heard }) => {
        channel.send(call(undefined, 'notifications/initialized'));
        await until(() => heard.messages.length === 2, 'what the server says');
        assert.deepEqual(heardIn(heard), [['unasked', undefined]]);
      },
    ));
});
