import assert from 'node:assert/strict';
import { test } from 'vitest';
import { messageOf } from '#core';
import { createManualClock } from '#helpers/clock';
import { withHubInputs } from '../../../hub/routing/bridge/hub-inputs.ts';
import { FailedCall, callTo } from '../../../hub/routing/call.ts';
import { createUrlElicitations } from '../../../hub/routing/events/ownership.ts';
import { createTasks } from '../../../hub/routing/tasks/tasks.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { callWith, modernMeta } from '../steps/scripted-call.ts';

/** Creates a call whose server asks the hub for completions. */
function scene() {
  const there = createScriptedServer({ name: 'own', sampling: 'hub' }, { era: 'modern' });
  const state = { made: 0 };
  const needs = {
    clock: createManualClock(),
    tasks: createTasks(),
    urlElicitations: createUrlElicitations(),
    subscriptions: { add() {} },
    hubSampling: { answers: () => true, answerInput: async () => `{"made":${++state.made}}` },
  };
  const call = callWith('tools/call', { name: 'a', _meta: modernMeta() });
  const { server, running } = there;
  const reply = withHubInputs(callTo(server, call), server, running, needs);
  return { ...there, state, reply: reply ?? assert.fail('the hub is not needed') };
}

/** Returns a result that asks for `count` completions. */
const asking = (count: number) => ({
  result: {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(
      Array.from({ length: count }, (_, key) => [
        `a${key}`,
        { method: 'sampling/createMessage', params: {} },
      ]),
    ),
    requestState: 's',
  },
});

test('more completions than the hub makes at once are made in several rounds', async () => {
  const { calls, state, reply } = scene();
  calls[0]?.answer(asking(25));
  await new Promise(setImmediate);
  assert.equal(state.made, 20);
  calls[1]?.answer({ result: { resultType: 'complete' } });
  assert.match((await reply).bytes.toString(), /"complete"/);
});

test('a server that requests completions endlessly fails the call, whose client cannot answer them', async () => {
  const { calls, state, reply } = scene();
  const over = assert.rejects(
    reply,
    (error: unknown) =>
      error instanceof FailedCall &&
      messageOf(error.error).startsWith('own asked more than 20 times for completions'),
  );
  for (let sent = 0; sent < calls.length && sent < 30; sent++) {
    calls[sent]?.answer(asking(1));
    await new Promise(setImmediate);
  }
  await over;
  assert.equal(state.made, 20);
});
