import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError, silent, systemClock } from '#core';
import { rawText } from '#jsonrpc';
import { compose, createAnswering } from '../../hub/routing/answering.ts';
import { type Reply, type Step, hubReply, ownCall } from '../../hub/routing/call.ts';
import { callOf } from './steps/scripted-call.ts';

const pinged = ownCall(callOf('ping'), () => hubReply(Buffer.from('own')));

test('the first step is the outermost, and an absent step is skipped', async () => {
  const passed: string[] = [];
  const step =
    (name: string): Step =>
    (resolved, next) => {
      passed.push(name);
      return next(resolved);
    };
  const answer = compose([step('first'), undefined, step('second')], resolved => {
    passed.push(rawText(resolved.call.request.bytes, resolved.call.request.id));
    return hubReply(Buffer.from('last'));
  });
  const reply = await answer(pinged);
  assert.deepEqual([...passed, String(reply.bytes)], ['first', 'second', '1', 'last']);
});

test('without steps the composition is the last function itself', () => {
  const last = () => hubReply(Buffer.from('last'));
  assert.equal(compose([undefined], last), last);
});

test('a step that passes on a promise returns that very promise', () => {
  const reply = Promise.resolve(hubReply(Buffer.from('')));
  assert.equal(compose([(resolved, next) => next(resolved)], () => reply)(pinged), reply);
});

/** Creates the step that answers calls, for calls whose answer comes from the hub itself. */
const answerOwn = () =>
  createAnswering(({ answer }) => answer?.() ?? assert.fail('the hub answers the call'), {
    log: silent,
    clock: systemClock,
    newId: () => '1',
  });

test('a call is in flight until it is answered, and a subscription stream never is', async () => {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const answering = answerOwn();
  const slow = ownCall(callOf('ping'), () => promise);
  const { id, session, cancellation } = slow.call;
  const answer = answering.answer(slow);
  const ping = callOf('ping');
  const listen = { ...ping, request: { ...ping.request, method: 'subscriptions/listen' } };
  const stream = answering.answer(ownCall(listen, () => promise));
  assert.equal(answering.inFlight, 1);
  assert.equal(session.inFlight.get(id), cancellation);
  resolve(hubReply(Buffer.from('done')));
  assert.deepEqual(await Promise.all([answer, stream]), [Buffer.from('done'), Buffer.from('done')]);
  assert.equal(answering.inFlight, 0);
  assert.equal(session.inFlight.size, 0);
});

test('an id in use is refused, and the first call remains', async () => {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const answering = answerOwn();
  const first = ownCall(callOf('ping'), () => promise);
  const answer = answering.answer(first);
  const refused = await answering.answer({ ...first });
  assert.equal(
    JSON.parse(String(refused)).error.message,
    'the id 1 is in use by a request in flight',
  );
  assert.equal(answering.inFlight, 1);
  assert.equal(first.call.session.inFlight.size, 1);
  resolve(hubReply(Buffer.from('done')));
  await answer;
  assert.equal(first.call.session.inFlight.size, 0);
});

test('a call that is answered synchronously is never in flight', async () => {
  const answering = answerOwn();
  const answer = answering.answer(pinged);
  assert.equal(answering.inFlight, 0);
  assert.equal(String(await answer), 'own');
});

test('the observer gets the policy decision about a call, even if the call fails', async () => {
  const heard: unknown[] = [];
  const answering = createAnswering(({ answer }) => answer?.() ?? assert.fail('no answer'), {
    log: silent,
    clock: systemClock,
    newId: () => '1',
    observer: ({ outcome, decision }) => heard.push([outcome, decision]),
  });
  const decision = { action: 'deny', rule: 'policy[0]', reason: 'read only' } as const;
  await answering.answer({ ...pinged, decision });
  const refused = ownCall(callOf('ping'), () => {
    throw new HubError('HUB_POLICY_DENIED', 'no');
  });
  await answering.answer({ ...refused, decision });
  await answering.answer(pinged);
  assert.deepEqual(heard, [
    ['ok', decision],
    ['HUB_POLICY_DENIED', decision],
    ['ok', undefined],
  ]);
});
