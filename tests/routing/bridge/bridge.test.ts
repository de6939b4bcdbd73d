import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent } from '#core';
import { admitted } from '#helpers/calls';
import { createFixtureServers } from '#helpers/hub';
import {
  admit,
  createAdmissionStep,
  createResumeStep,
} from '../../../hub/routing/bridge/bridge.ts';
import { FailedCall, callTo, hubReply } from '../../../hub/routing/call.ts';
import { cancelCall } from '../../../hub/routing/session.ts';
import { callOf } from '../steps/scripted-call.ts';

function scene() {
  const servers = createFixtureServers(
    [{ name: 'echo', maxConcurrentCalls: 1, maxQueuedCalls: 1 }],
    { log: silent },
  );
  const server = servers.get('echo');
  return {
    server,
    active: () => server.admission.snapshot().active,
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

describe('a call', () => {
  test('occupies a place until its reply, whatever the reply is', async () => {
    await using one = scene();
    const { promise, resolve } = Promise.withResolvers<number>();
    const done = admit(one.server, callOf('x'), () => promise);
    assert.equal(one.active(), 1);
    resolve(1);
    await done;
    assert.equal(one.active(), 0);
    for (const error of [new HubError('HUB_SERVER_DOWN', 'x'), new FailedCall('y', 1)]) {
      await assert.rejects(
        Promise.resolve(admit(one.server, callOf('x'), () => Promise.reject(error))),
      );
      assert.equal(one.active(), 0);
    }
    assert.throws(() =>
      admit(one.server, callOf('x'), () => {
        throw new TypeError('within');
      }),
    );
    assert.equal(one.active(), 0);
  });

  test('is passed on unchanged if it need not wait', async () => {
    await using one = scene();
    const call = callTo(one.server, callOf('x'));
    const reply = Promise.resolve(hubReply(Buffer.from('')));
    const step = createAdmissionStep(server => server);
    const passed = step(call, resolved => {
      assert.equal(resolved, call);
      return reply;
    });
    assert.equal(passed, reply, 'the promise itself, without a turn more');
    await passed;
  });

  test('that waited has its waiting time, and names its instance', async () => {
    await using one = scene();
    await using other = scene();
    const leave = await admitted(other.server.admission, 'ada');
    const step = createAdmissionStep(() => other.server);
    const passed = step(callTo(one.server, callOf('x')), resolved => {
      assert.equal(resolved.server, one.server);
      assert.equal(resolved.instance, other.server);
      assert.ok(resolved.waitedMs > 0);
      return hubReply(Buffer.from(''));
    });
    leave.over(undefined, true);
    await passed;
    assert.equal(other.active(), 0);
  });

  test('that is cancelled while it waits is not sent', async () => {
    await using one = scene();
    const leave = await admitted(one.server.admission, 'ada');
    const call = callOf('x');
    const waiting = Promise.resolve(admit(one.server, call, () => assert.fail('it is begun')));
    cancelCall(call.cancellation, 'not wanted');
    await assert.rejects(waiting, { code: 'HUB_CALL_CANCELLED' });
    leave.over(undefined, true);
    assert.equal(one.active(), 0);
  });
});

test('the answer to a continued call has the names of its client, as that of any other', async () => {
  const reply = { bytes: Buffer.from('one://a'), outcome: 'ok' as const, serverMs: 1 };
  const step = createResumeStep({ resume: async () => reply });
  const restored = (bytes: Buffer) => Buffer.concat([Buffer.from('one+'), bytes]);
  const resumed = await step(callTo(undefined, callOf('resources/read'), { restored }), () =>
    assert.fail('it is not sent again'),
  );
  assert.deepEqual(resumed, { ...reply, bytes: Buffer.from('one+one://a') });
});
