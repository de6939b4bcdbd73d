import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { encodeResult, readAnswer } from '#jsonrpc';
import { FailedCall, callTo } from '../../../hub/routing/call.ts';
import { saysError, send } from '../../../hub/routing/bridge/send.ts';
import { createUrlElicitations } from '../../../hub/routing/events/ownership.ts';
import { cancelCall } from '../../../hub/routing/session.ts';
import { createTasks } from '../../../hub/routing/tasks/tasks.ts';
import { type Script, createScriptedServer } from '../scripted-server.ts';
import { callOf } from '../steps/scripted-call.ts';

describe('a result counts as a failed tool', () => {
  const inResult = (text: string) => {
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${text}}`);
    return saysError(bytes, { start: bytes.indexOf(text), end: bytes.length - 1 });
  };
  const padding = (length: number) => `"content":[{"type":"text","text":"${'x'.repeat(length)}"}]`;

  test.for([
    ['in a small result', '{"isError":true}', true],
    ['with spaces around it', '{"content":[],"isError" : true }', true],
    ['not where it is false', '{"isError":false}', false],
    ['not where it is not a boolean', '{"isError":"true"}', false],
    ['not where it is missing', '{"content":[]}', false],
    ['not by what its own data say', '{"structuredContent":{"isError":true}}', false],
    ['not where both are there', '{"structuredContent":{"isError":true},"isError":false}', false],
    ['whatever its own data say', '{"structuredContent":{"isError":false},"isError":true}', true],
    ['not by its text', '{"content":[{"type":"text","text":"\\"isError\\":true"}]}', false],
    ['behind 60 kB', `{${padding(60_000)},"isError":true}`, true],
    ['behind 100 kB', `{${padding(100_000)},"isError":true}`, true],
    ['before 100 kB', `{"isError":true,${padding(100_000)}}`, true],
    ['not where 100 kB do not say so', `{${padding(100_000)}}`, false],
    [
      'not in the middle of 200 kB, where nobody writes it',
      `{${padding(100_000)},"isError":true,${padding(100_000)}}`,
      false,
    ],
  ] as const)('%s', ([, text, expected]) => {
    assert.equal(inResult(text), expected);
  });
});

const remote = { name: 'own', url: 'http://127.0.0.1:9/mcp' };

/** Sends calls to a scripted server, and records the tasks, pages and subscriptions in its answers. */
function scene(script: Script = {}, fixture: Parameters<typeof createScriptedServer>[0] = remote) {
  const there = createScriptedServer(fixture, { era: 'modern', ...script });
  const clock = createManualClock();
  const tasks = createTasks();
  const urlElicitations = createUrlElicitations();
  const subscribed: unknown[] = [];
  const needs = {
    clock,
    tasks,
    urlElicitations,
    subscriptions: {
      add: (_server: object, uri: string, _client: object, publicUri: string) =>
        void subscribed.push([uri, publicUri]),
    },
  };
  const sent = (resolved = callTo(there.server, callOf('tools/call', { name: 'x' }))) =>
    send(resolved, resolved.edits, there.server, there.running, needs).then(
      ({ bytes, ...rest }) => ({ ...rest, ...JSON.parse(bytes.toString()) }),
    );
  return { ...there, clock, tasks, urlElicitations, subscribed, sent };
}

const mismatch = { error: { code: -32020, message: 'Mcp-Param-A is missing' } };
const done = { result: { content: [] } };

describe('a call that a remote server refuses because of its headers', () => {
  test('is sent once more, after the tools were read again', async () => {
    const one = scene();
    const answered = one.sent();
    one.calls[0]?.answer(mismatch);
    await new Promise(setImmediate);
    assert.deepEqual(one.refreshed, ['tool']);
    assert.equal(one.calls.length, 2);
    one.calls[1]?.answer(mismatch);
    assert.partialDeepStrictEqual(await answered, { outcome: 'error', id: 1, ...mismatch });
    assert.equal(one.calls.length, 2, 'not a third time');
  });

  test('is not sent again if its client has cancelled', async () => {
    const one = scene();
    const call = callOf('tools/call', { name: 'x' });
    const answered = one.sent(callTo(one.server, call));
    one.calls[0]?.answer(mismatch);
    cancelCall(call.cancellation, undefined);
    await assert.rejects(answered, { code: 'HUB_CALL_CANCELLED' });
    assert.equal(one.calls.length, 1);
  });

  test.each([
    [
      'it is refused for another reason',
      {},
      remote,
      'tools/call',
      { error: { code: -32602, message: 'no' } },
    ],
    ['it is answered', {}, remote, 'tools/call', done],
    ['it calls no tool', {}, remote, 'prompts/get', mismatch],
    ['the server has sessions', { era: 'legacy' }, remote, 'tools/call', mismatch],
    ['the server is no remote one', {}, { name: 'own' }, 'tools/call', mismatch],
  ] as const)('is sent only once if %s', async (_, script, fixture, method, answer) => {
    const one = scene(script, fixture);
    const answered = one.sent(callTo(one.server, callOf(method, { name: 'x' })));
    one.calls[0]?.answer(answer);
    await answered;
    assert.deepEqual([one.calls.length, one.refreshed], [1, []]);
  });
});

test('a cancelled call is not sent', () => {
  const one = scene();
  const call = callOf('tools/call');
  cancelCall(call.cancellation, undefined);
  assert.throws(() => one.sent(callTo(one.server, call)), { code: 'HUB_CALL_CANCELLED' });
  assert.deepEqual(one.calls, []);
});

test("the response has the id of the client, and the server's time", async () => {
  const one = scene();
  const answered = one.sent();
  one.clock.advance(30);
  one.calls[0]?.answer({ result: { content: [], isError: true } });
  assert.deepEqual(await answered, {
    jsonrpc: '2.0',
    id: 1,
    result: { content: [], isError: true },
    outcome: 'tool_error',
    serverMs: 30,
  });
});

test('a result of a method other than tools/call does not count as a failed tool', async () => {
  const one = scene();
  const answered = one.sent(callTo(one.server, callOf('prompts/get', { name: 'x' })));
  one.calls[0]?.answer({ result: { isError: true } });
  assert.equal((await answered).outcome, 'ok');
});

describe('an operator is advised about the era of a server', () => {
  const refusal = 'no back-channel for server-initiated requests';

  test.each([
    [
      'a tool that fails',
      { result: { isError: true, content: [{ type: 'text', text: refusal }] } },
      1,
    ],
    ['an error', { error: { code: -32603, message: refusal } }, 1],
    ['an error that says something else', { error: { code: -32603, message: 'no' } }, 0],
    ['a result', { result: { content: [{ type: 'text', text: refusal }] } }, 0],
    [
      'an error that says it far behind',
      { error: { code: -32603, message: 'x'.repeat(20_000) + refusal } },
      0,
    ],
  ])('by %s', async (_, answer, times) => {
    const one = scene();
    const answered = one.sent();
    one.calls[0]?.answer(answer);
    await answered;
    assert.equal(one.advice.length, times);
  });

  test('only if the server has no sessions', async () => {
    const one = scene({ era: 'legacy' });
    const answered = one.sent();
    one.calls[0]?.answer({ error: { code: -32603, message: refusal } });
    await answered;
    assert.deepEqual(one.advice, []);
  });
});

describe('state that a response creates is recorded:', () => {
  const subscription = { kind: 'subscription', uri: 'x://a', publicUri: 'own+x://a' } as const;

  test.each([
    ['a subscription', { result: {} }, false, true],
    ['no subscription that was refused', { error: { code: -1, message: 'no' } }, false, false],
    ['no subscription whose client is gone', { result: {} }, true, false],
  ])('%s', async (_, answer, isCancelled, isRemembered) => {
    const one = scene({ era: 'legacy' });
    const fresh = callOf('resources/subscribe', { uri: 'x://a' });
    const answered = one.sent({ ...callTo(one.server, fresh), remembered: subscription });
    fresh.cancellation.isCancelled = isCancelled;
    one.calls[0]?.answer(answer);
    await answered;
    assert.deepEqual(one.subscribed, isRemembered ? [['x://a', 'own+x://a']] : []);
  });

  test('a task, under an id that is free at its client', async () => {
    const one = scene({ era: 'legacy' });
    const other = createScriptedServer({ name: 'other' }).server;
    const made = { task: { taskId: 't' } };
    const call = callOf('tools/call', { name: 'x', task: {} });
    one.tasks.made(other, other, readAnswer(encodeResult('1', JSON.stringify(made))), call.session);
    const answered = one.sent({ ...callTo(one.server, call), remembered: { kind: 'task' } });
    one.calls[0]?.answer({ result: made });
    assert.deepEqual((await answered).result, { task: { taskId: 'own+t' } });
    assert.deepEqual(one.tasks.get(call.session, 'own+t'), {
      server: one.server,
      taskId: 't',
      tool: 'x',
      publicId: 'own+t',
    });
  });

  test('the URLs of an error, for this client alone', async () => {
    const one = scene({ era: 'legacy' });
    const fresh = callOf('tools/call', { name: 'x' });
    const answered = one.sent(callTo(one.server, fresh));
    const elicitations = [{ mode: 'url', url: 'https://example.com/', elicitationId: 'e' }];
    one.calls[0]?.answer({ error: { code: -32042, message: 'visit', data: { elicitations } } });
    await answered;
    assert.equal(one.urlElicitations.ownerOf(one.server, 'e'), fresh.session);
  });
});

test('a failure of the server has the time that the server had the call', async () => {
  const one = scene();
  const call = callOf('tools/call', { name: 'x' });
  const answered = one.sent(callTo(one.server, call));
  one.clock.advance(20);
  cancelCall(call.cancellation, 'no need');
  await assert.rejects(answered, (error: unknown) => {
    assert.ok(error instanceof FailedCall);
    assert.equal(error.serverMs, 20);
    assert.ok(error.error instanceof HubError);
    assert.equal(error.error.code, 'HUB_CALL_CANCELLED');
    return true;
  });
});
