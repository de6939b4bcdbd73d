import assert from 'node:assert/strict';
import { test } from 'vitest';
import { rawText } from '#jsonrpc';
import { type Step, ownCall, hubReply } from '../../../hub/routing/call.ts';
import { compose } from '../../../hub/routing/steps/compose.ts';
import { callOf } from './scripted-call.ts';

const call = ownCall(callOf('ping'), () => hubReply(Buffer.from('own')));

test('the first step is the outermost, and a step that is absent is left out', async () => {
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
  const reply = await answer(call);
  assert.deepEqual([...passed, String(reply.bytes)], ['first', 'second', '1', 'last']);
});

test('without steps the composition is the last function itself', () => {
  const last = () => hubReply(Buffer.from('last'));
  assert.equal(compose([undefined], last), last);
});

test('a step that passes a promise on returns that very promise', () => {
  const reply = Promise.resolve(hubReply(Buffer.from('')));
  assert.equal(compose([(resolved, next) => next(resolved)], () => reply)(call), reply);
});
