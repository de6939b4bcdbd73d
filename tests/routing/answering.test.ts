import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent, systemClock } from '#core';
import { startHub } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { rawText } from '#jsonrpc';
import type { Principal } from '#policy';
import { compose, createAnswering, createRequestBytesStep } from '../../hub/routing/answering.ts';
import { type Reply, type Step, callTo, hubReply, ownCall } from '../../hub/routing/call.ts';
import { callOf, callWith, readRequest } from './steps/scripted-call.ts';

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

const done = hubReply(Buffer.from('done'));
const full =
  /^this request has 62914560 bytes, and those of "test" that are not answered have 251658240: the most is 268435456 bytes together/;
/** Bytes of each large request: four are within the bound, and five are not. */
const bytes = Buffer.alloc(60 * 2 ** 20);

function scene() {
  const step = createRequestBytesStep();
  const open: PromiseWithResolvers<Reply>[] = [];
  return {
    step,
    open,
    send: (principal: Principal = caller, sent: Buffer = bytes) => {
      const call = callWith('tools/call', {}, { principal });
      const request = { ...call.request, bytes: sent };
      const resolved = callTo(undefined, { ...call, request });
      return step(resolved, () => {
        const answer = Promise.withResolvers<Reply>();
        open.push(answer);
        return answer.promise;
      });
    },
  };
}

describe('the unanswered requests of a caller', () => {
  test('are bounded in total, without those of other callers', async () => {
    const { send, open } = scene();
    for (let sent = 0; sent < 4; sent++) void send();
    assert.throws(() => send(), { code: 'HUB_SERVER_BUSY', message: full });
    void send({ kind: 'client', name: 'other', grants: caller.grants });
    assert.equal(open.length, 5);
    void send(caller, bytes.subarray(0, 65_535));
    assert.equal(open.length, 6, 'a small one is not counted');
  });

  test.each([
    ['answered', (answer?: PromiseWithResolvers<Reply>) => answer?.resolve(done)],
    ['failed', (answer?: PromiseWithResolvers<Reply>) => answer?.reject(new Error('failed'))],
  ])('free their bytes when one is %s', async (_, end) => {
    const { send, open } = scene();
    const [first] = Array.from({ length: 4 }, () => send());
    end(open[0]);
    await Promise.allSettled([first]);
    void send();
    assert.equal(open.length, 5);
  });

  test('do not include any that was answered or refused at once', () => {
    const { step } = scene();
    const call = callWith('ping', {});
    const large = callTo(undefined, { ...call, request: { ...call.request, bytes } });
    const refuse = () => {
      throw new RangeError('refused');
    };
    for (let sent = 0; sent < 5; sent++) {
      assert.equal(
        step(large, () => done),
        done,
      );
      assert.throws(() => step(large, refuse), RangeError);
    }
  });
});

test('the router refuses a request above the limit, at any server and endpoint', async () => {
  const never = { name: 'never', file: 'never-ready.mjs', autoStart: false };
  await using hub = await startHub([never], { start: false });
  const pad = 'x'.repeat(bytes.length);
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', pad } };
  const message = readRequest(JSON.stringify(call));
  const send = () =>
    hub.router.openSessionless(hub.server('never'), caller).accept(message, { send() {} }, caller);
  for (let sent = 0; sent < 4; sent++) void send();
  assert.match(String(await send()), /HUB_SERVER_BUSY/);
});
