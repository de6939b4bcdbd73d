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

test('a server that asks for completions without end fails the call: its client cannot make them', async () => {
  const { server, running, calls } = createScriptedServer(
    { name: 'own', sampling: 'hub' },
    { era: 'modern' },
  );
  let made = 0;
  const needs = {
    clock: createManualClock(),
    tasks: createTasks(),
    urlElicitations: createUrlElicitations(),
    subscriptions: { add() {} },
    hubSampling: { answers: () => true, answerInput: async () => `{"made":${++made}}` },
  };
  const call = callWith('tools/call', { name: 'a', _meta: modernMeta() });
  const reply = withHubInputs(callTo(server, call), server, running, needs);
  const over = assert.rejects(
    reply ?? assert.fail('the hub is not needed'),
    (error: unknown) =>
      error instanceof FailedCall &&
      messageOf(error.error).startsWith('own asked more than 20 times for completions'),
  );
  const inputRequests = { a: { method: 'sampling/createMessage', params: {} } };
  const result = { resultType: 'input_required', inputRequests, requestState: 's' };
  for (let sent = 0; sent < calls.length && sent < 30; sent++) {
    calls[sent]?.answer({ result });
    await new Promise(setImmediate);
  }
  await over;
  assert.equal(made, 20);
});
