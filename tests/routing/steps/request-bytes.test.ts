import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startHub } from '#helpers/hub';
import { caller } from '#helpers/principal';
import type { Principal } from '#policy';
import { type Reply, callTo, hubReply } from '../../../hub/routing/call.ts';
import { createRequestBytesStep } from '../../../hub/routing/answering.ts';
import { callWith, readRequest } from './scripted-call.ts';

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
