import assert from 'node:assert/strict';
import { test } from 'vitest';
import { carrierOf, createOpenQuestions } from '../../../hub/routing/bridge/open-questions.ts';
import type { SuspendedCall } from '../../../hub/routing/bridge/suspended-call-types.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { readRequest } from '../steps/scripted-call.ts';

const { server } = createScriptedServer({ name: 'own' });

const callNamed = (
  id: string,
  { mayAsk = true, isAway = false, hasOpenRequest = false },
): SuspendedCall => ({
  id,
  server,
  client: 'ada',
  requestBytes: 0,
  isAnswered: false,
  mayAsk,
  isAway,
  hasOpenRequest,
  take() {},
  first: new Promise(() => {}),
  resume: () => assert.fail('it is only chosen'),
  withdrawn() {},
  giveUp() {},
});

const free = {};
const mute = { mayAsk: false };
const away = { isAway: true, hasOpenRequest: true };
const asking = { hasOpenRequest: true };

test.each([
  ['the oldest call that can ask at once', [mute, away, asking, free, free], '3'],
  ['else the oldest whose request is open, though it has a question', [mute, away, asking], '2'],
  ['else the oldest whose client will come back', [mute, away, away], '1'],
  ['else the call of the question, where no call may ask', [mute, mute], 'own'],
  ['else the call of the question, where there is no other', [], 'own'],
])('a request of the server is carried by %s', (_, calls, id) => {
  const all = calls.map((flags, index) => callNamed(String(index), flags));
  assert.equal(carrierOf(all, callNamed('own', mute)).id, id);
});

test.each([
  ['{"a":1}', '{"a":1}'],
  // The official Go SDK refuses a whole result with a question that has none.
  [undefined, '{}'],
])('a question with the params %s asks its client with %s', (params, asked) => {
  const questions = createOpenQuestions();
  questions.add({
    request: readRequest(
      `{"jsonrpc":"2.0","id":1,"method":"roots/list"${params ? `,"params":${params}` : ''}}`,
    ),
    about: undefined,
    connection: createScriptedServer({ name: 'asking' }).running.upstream,
    source: {},
    tell() {},
    answer: () => assert.fail('the client has not answered'),
  });
  assert.equal(questions.inputRequests(), `{"1":{"method":"roots/list","params":${asked}}}`);
});
