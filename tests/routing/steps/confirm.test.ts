import assert from 'node:assert/strict';
import { afterAll, describe, test } from 'vitest';
import type { PolicyRule } from '#config';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type Fixture, startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import { type PromptSource, createPrincipalRequests } from '#routing';
import { type Server, heldKey } from '#servers';
import { callWith } from './scripted-call.ts';
import { startToolServer } from '../../doubles/tool-server.ts';
import { lifetimeMs, openTestApprovals } from '../../approvals/test-approvals.ts';
import { openAsked } from '../asking.ts';
import { at, openModern, textOf } from '../modern.ts';
import { callTo, hubReply } from '../../../hub/routing/call.ts';
import { createConfirmStep } from '../../../hub/routing/steps/confirm.ts';
import { createScriptedPrompts } from '../scripted-prompts.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { createTestAccess } from '../test-access.ts';

const cursor: Principal = { kind: 'client', name: 'cursor', grants: { administer: false } };
const other: Principal = { kind: 'client', name: 'other', grants: { administer: false } };
const rule: PolicyRule = {
  tools: ['*_echo', '*_ask', '*_where', '*_busy'],
  action: 'confirm',
  reason: 'it writes',
};
const echoing = await startToolServer({
  echo: ({ text }) => ({ content: [{ type: 'text', text }] }),
});
afterAll(() => echoing.stop());

/** Servers of a test. Only `echo` runs in this process; each of the others starts a process. */
type Fixtures = readonly Fixture[];
const echo: Fixtures = [{ name: 'echo', url: echoing.url, era: 'legacy' }];
const stateless: Fixtures = [{ name: 'stateless' }];
const echoAndStateless: Fixtures = [...echo, ...stateless];
const echoAndAsker: Fixtures = [...echo, { name: 'asker' }];
const fixturesOf = (tool: string): Fixtures =>
  [...echo, ...stateless, { name: 'asker' }].filter(({ name }) => tool.startsWith(name));
const eras = ['legacy', 'modern'] as const;

async function open(
  fixtures = echo,
  policy: readonly PolicyRule[] = [rule],
  prompts?: PromptSource,
) {
  const clock = createManualClock({ passingMs: 1_000 });
  const { approvals, recorded } = await openTestApprovals({ clock });
  const { access } = createTestAccess(fixtures, { policy });
  const outcomes: unknown[] = [];
  const hub = await startHub(fixtures, {
    access,
    approvals,
    clock,
    ...(prompts && { prompts }),
    observer: ({ outcome, decision }) => outcomes.push([outcome, decision?.action]),
  });
  return {
    hub,
    clock,
    approvals,
    recorded,
    outcomes,
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

type Scene = Awaited<ReturnType<typeof open>>;
type Action = 'accept' | 'decline' | 'cancel';

/** Opens a client that cannot ask its user. Returns a function that calls a tool and returns its text, or the error. */
async function openDeaf({ hub }: Scene, era: (typeof eras)[number], principal = cursor) {
  if (era === 'legacy') {
    const client = openAsked(hub, 'all', undefined, principal);
    await client.initialize({});
    return async (text: unknown, name = 'echo_echo') => {
      const { result, error } = await client.ask('tools/call', { name, arguments: { text } });
      return isObject(result) ? textOf(result) : { error };
    };
  }
  const client = openModern(hub, 'all', {}, undefined, principal);
  return async (text: unknown, name = 'echo_echo') => {
    const { result, error } = await client.call(name, { text });
    return error ? { error } : textOf(result);
  };
}

const codeOf = (answer: unknown) => at(answer, 'error', 'data', 'code');
const idOf = (answer: unknown) => String(at(answer, 'error', 'data', 'approval'));

describe.each(eras)('a client of the %s era that cannot elicit an answer from its user', era => {
  test('is refused with an id, and an equal call runs once when it is approved', async () => {
    await using scene = await open();
    const call = await openDeaf(scene, era);
    const refused = await call('a');
    assert.deepEqual(at(refused, 'error', 'data', 'rule'), 'policy[0]');
    assert.equal(codeOf(refused), 'HUB_APPROVAL_NEEDED');
    const id = idOf(refused);
    assert.match(
      String(at(refused, 'error', 'message')),
      new RegExp(`\\(it writes\\).*approve ${id}"`),
    );
    assert.equal(idOf(await call('a')), id);
    await scene.approvals.approve(id, 'owner');
    assert.equal(codeOf(await call('b')), 'HUB_APPROVAL_NEEDED');
    assert.equal(await call('a'), 'a');
    assert.equal(codeOf(await call('a')), 'HUB_APPROVAL_NEEDED');
    assert.deepEqual(scene.outcomes.at(-1), ['HUB_APPROVAL_NEEDED', 'confirm']);
  });

  test('is refused in spite of the approval of another client', async () => {
    await using scene = await open();
    const id = idOf(await (await openDeaf(scene, era, other))('a'));
    await scene.approvals.approve(id, 'owner');
    assert.equal(codeOf(await (await openDeaf(scene, era))('a')), 'HUB_APPROVAL_NEEDED');
  });

  test('is refused when the owner denies the call, and gets a new approval when the denial has expired', async () => {
    await using scene = await open();
    const call = await openDeaf(scene, era);
    const id = idOf(await call('a'));
    await scene.approvals.deny(id, 'owner');
    assert.equal(codeOf(await call('a')), 'HUB_APPROVAL_DENIED');
    scene.clock.advance(lifetimeMs);
    const next = await call('a');
    assert.equal(codeOf(next), 'HUB_APPROVAL_NEEDED');
    assert.notEqual(idOf(next), id);
  });

  test('cannot use an approval that has expired', async () => {
    await using scene = await open();
    const call = await openDeaf(scene, era);
    await scene.approvals.approve(idOf(await call('a')), 'owner');
    scene.clock.advance(lifetimeMs);
    assert.equal(codeOf(await call('a')), 'HUB_APPROVAL_NEEDED');
  });

  test('can call without limit under a standing approval', async () => {
    await using scene = await open(echoAndAsker);
    const call = await openDeaf(scene, era);
    await scene.approvals.approve(idOf(await call('a')), 'owner', true);
    assert.deepEqual([await call('a'), await call('a'), await call('b')], ['a', 'a', 'b']);
    assert.equal(codeOf(await call('a', 'asker_ask')), 'HUB_APPROVAL_NEEDED');
  });
});

/** Opens a client with a session whose user gives these answers, in order. */
async function openAnswering({ hub }: Scene, ...answers: (Action | undefined)[]) {
  const client = openAsked(
    hub,
    'all',
    () => {
      const action = answers.shift();
      return action && { action, content: {} };
    },
    cursor,
  );
  await client.initialize({ elicitation: {} });
  return client;
}

describe('a client with a session that supports elicitation', () => {
  test('elicits an answer for each call, and the call runs if the user accepts', async () => {
    await using scene = await open(echoAndStateless);
    const client = await openAnswering(scene, 'accept', 'accept');
    assert.equal(await client.call('echo_echo', { text: 'a' }), 'a');
    assert.equal(await client.call('stateless_busy', { times: 0 }), 'after 0');
    const [first] = client.asked;
    assert.equal(first?.method, 'elicitation/create');
    assert.equal(
      first?.params['message'],
      'Let cursor call echo_echo once (it writes)? Its arguments: {"text":"a"}',
    );
    assert.equal(client.asked.length, 2);
    assert.deepEqual(scene.approvals.list(), []);
    assert.deepEqual(
      scene.recorded.map(({ action, principal }) => [action, principal]),
      [
        ['approval_approved', 'cursor'],
        ['approval_used', undefined],
        ['approval_approved', 'cursor'],
        ['approval_used', undefined],
      ],
    );
  });

  test.each(['decline', 'cancel'] as const)('does not run its call after "%s"', async action => {
    await using scene = await open();
    const client = await openAnswering(scene, action);
    const answer = await client.call('echo_echo', { text: 'a' });
    assert.equal(codeOf(answer), 'HUB_APPROVAL_DENIED');
    assert.deepEqual(scene.approvals.list(), []);
    assert.deepEqual(
      scene.recorded.map(one => [one.action, one.principal, at(one.details, 'answer')]),
      [['approval_declined', 'cursor', action]],
    );
  });

  test('need not answer if the owner approves first, and gets a cancellation', async () => {
    await using scene = await open();
    const client = await openAnswering(scene, undefined);
    const answer = client.call('echo_echo', { text: 'a' });
    await until(() => scene.approvals.waiting === 1 && client.asked.length === 1);
    await scene.approvals.approve(scene.approvals.list()[0]?.id ?? '', 'owner');
    assert.equal(await answer, 'a');
    assert.equal(client.told.at(-1)?.['method'], 'notifications/cancelled');
  });

  test('is refused with an id if its user does not answer in time', async () => {
    await using scene = await open();
    const client = await openAnswering(scene, undefined);
    const answer = client.call('echo_echo', { text: 'a' });
    await until(() => client.asked.length === 1);
    scene.clock.advance(lifetimeMs);
    const code = codeOf(await answer);
    assert.ok(code === 'HUB_APPROVAL_NEEDED' || code === 'HUB_CLIENT_GONE', String(code));
  });

  test('gets a cancellation of the elicitation when it cancels the call', async () => {
    await using scene = await open();
    const client = await openAnswering(scene, undefined);
    const answer = client.call('echo_echo', { text: 'a' });
    await until(() => client.asked.length === 1);
    await client.notify('notifications/cancelled', { requestId: client.lastId() });
    assert.equal(codeOf(await answer), 'HUB_CALL_CANCELLED');
    assert.deepEqual(scene.approvals.list(), []);
  });

  test('may have 100 calls waiting at once, each with its own answer', async () => {
    await using scene = await open();
    const waiting: ((value: object) => void)[] = [];
    const client = openAsked(
      scene.hub,
      'all',
      () => new Promise<object>(resolve => waiting.push(resolve)),
      cursor,
    );
    await client.initialize({ elicitation: {} });
    const calls = Array.from({ length: 100 }, (_, index) =>
      client.call('echo_echo', { text: `t${index}` }),
    );
    await until(() => waiting.length === 100);
    assert.equal(scene.approvals.waiting, 100);
    waiting.forEach((resolve, index) =>
      resolve({ action: index % 2 === 0 ? 'accept' : 'decline', content: {} }),
    );
    const answers = await Promise.all(calls);
    assert.deepEqual(
      answers.map(answer => (typeof answer === 'string' ? answer : codeOf(answer))),
      Array.from({ length: 100 }, (_, index) =>
        index % 2 === 0 ? `t${index}` : 'HUB_APPROVAL_DENIED',
      ),
    );
    assert.equal(scene.approvals.waiting, 0);
  });
});

/** Returns params that answer the approval question in a result. */
const answered = (result: object, action: Action) => ({
  requestState: at(result, 'requestState'),
  inputResponses: { approval: { action, content: {} } },
});

describe('a stateless client that supports elicitation', () => {
  test.each([
    ['echo_echo', { text: 'a' }, 'a'],
    ['stateless_busy', { times: 0 }, 'after 0'],
  ])('calls %s after its user accepted, once', async (name, args, text) => {
    await using scene = await open(fixturesOf(name));
    const client = openModern(scene.hub, 'all', undefined, undefined, cursor);
    const { result } = await client.call(name, args);
    assert.equal(result['resultType'], 'input_required');
    assert.equal(
      at(result, 'inputRequests', 'approval', 'params', 'message'),
      `Let cursor call ${name} once (it writes)? Its arguments: ${JSON.stringify(args)}`,
    );
    const again = answered(result, 'accept');
    assert.equal(textOf((await client.call(name, args, again)).result), text);
    const replayed = await client.call(name, args, again);
    assert.equal(codeOf(replayed), 'HUB_STATE_INVALID');
  });

  test("does not send the answer to the hub's elicitation to the server", async () => {
    await using scene = await open(stateless);
    const client = openModern(scene.hub, 'all', undefined, undefined, cursor);
    const { result } = await client.call('stateless_busy', { times: 0 });
    await client.call('stateless_busy', { times: 0 }, answered(result, 'accept'));
    const heard = textOf((await client.call('stateless_heard')).result);
    assert.deepEqual(JSON.parse(heard), [['_meta', 'arguments', 'name']]);
  });

  test.each([
    ['stateless_where', {}, { roots: { roots: [] } }],
    ['asker_ask', { method: 'roots/list', params: {} }, undefined],
  ])('is asked once about %s, whose server asks for more', async (name, args, answers) => {
    await using scene = await open(fixturesOf(name));
    const client = openModern(scene.hub, 'all', undefined, undefined, cursor);
    const first = await client.call(name, args);
    const second = await client.call(name, args, answered(first.result, 'accept'));
    const requests = at(second.result, 'inputRequests');
    const [key = ''] = Object.keys(isObject(requests) ? requests : {});
    assert.notEqual(key, 'approval');
    const state = at(second.result, 'requestState');
    const third = {
      ...(state !== undefined && { requestState: state }),
      inputResponses: answers ?? { [key]: { roots: [] } },
    };
    const { result, error } = await client.call(name, args, third);
    assert.equal(error, undefined);
    assert.equal(at(result, 'inputRequests', 'approval'), undefined);
    // A replay of the same request continues no call.
    const replayed = await client.call(name, { ...args, more: 1 }, third);
    assert.ok(replayed.error ?? at(replayed.result, 'inputRequests', 'approval'));
  });

  test('is refused with a state of other arguments, another tool, another client or a forged one', async () => {
    await using scene = await open(echoAndAsker);
    const mine = openModern(scene.hub, 'all', undefined, undefined, cursor);
    const others = openModern(scene.hub, 'all', undefined, undefined, other);
    const { result } = await mine.call('echo_echo', { text: 'a' });
    const again = answered(result, 'accept');
    const forged = String(again.requestState).replace(
      /^(approval\.)(.)/,
      (_, start, digit) => `${start}${digit === 'a' ? 'b' : 'a'}`,
    );
    for (const answer of [
      await mine.call('echo_echo', { text: 'b' }, again),
      await mine.call('asker_ask', { text: 'a' }, again),
      await others.call('echo_echo', { text: 'a' }, again),
      await mine.call('echo_echo', { text: 'a' }, { ...again, requestState: forged }),
    ])
      assert.equal(codeOf(answer), 'HUB_STATE_INVALID');
    assert.equal(textOf((await mine.call('echo_echo', { text: 'a' }, again)).result), 'a');
  });

  test('is refused after a decline, or when the elicitation has expired', async () => {
    await using scene = await open();
    const client = openModern(scene.hub, 'all', undefined, undefined, cursor);
    const first = await client.call('echo_echo', { text: 'a' });
    const declined = await client.call(
      'echo_echo',
      { text: 'a' },
      answered(first.result, 'decline'),
    );
    assert.equal(codeOf(declined), 'HUB_APPROVAL_DENIED');
    assert.deepEqual(
      scene.recorded.map(({ action, principal }) => [action, principal]),
      [['approval_declined', 'cursor']],
    );
    const second = await client.call('echo_echo', { text: 'a' });
    scene.clock.advance(lifetimeMs);
    const late = await client.call('echo_echo', { text: 'a' }, answered(second.result, 'accept'));
    assert.equal(codeOf(late), 'HUB_STATE_INVALID');
  });

  test('can call what the owner approved meanwhile', async () => {
    await using scene = await open();
    const client = openModern(scene.hub, 'all', undefined, undefined, cursor);
    await client.call('echo_echo', { text: 'a' });
    await scene.approvals.approve(scene.approvals.list()[0]?.id ?? '', 'owner');
    assert.equal(textOf((await client.call('echo_echo', { text: 'a' })).result), 'a');
  });
});

describe('a call whose prompt is improved differently each time', () => {
  const improving = () => {
    let times = 0;
    return createScriptedPrompts({
      named: { argumentsOf: () => ['text', 'method'], improves: () => false },
      make: async ({ prompt }) => ({ prompt: `${prompt} (${++times})` }),
    });
  };

  test.each(eras)('runs with the prompt that the owner approved (%s)', async era => {
    const { source, asked } = improving();
    await using scene = await open(echo, [rule], source);
    const call = await openDeaf(scene, era);
    const id = idOf(await call('a'));
    assert.equal(scene.approvals.list()[0]?.shown, '{"text":"a (1)"}');
    await scene.approvals.approve(id, 'owner');
    assert.equal(await call('a'), 'a (1)');
    assert.equal(asked.length, 1);
    // Another call needs another approval, which shows that call's own arguments.
    assert.equal(codeOf(await call('b')), 'HUB_APPROVAL_NEEDED');
    assert.equal(scene.approvals.list()[0]?.shown, '{"text":"b (2)"}');
  });

  test('runs with the prompt that a stateless client showed to its user', async () => {
    await using scene = await open(echo, [rule], improving().source);
    const client = openModern(scene.hub, 'all', undefined, undefined, cursor);
    const { result } = await client.call('echo_echo', { text: 'a' });
    const again = await client.call('echo_echo', { text: 'a' }, answered(result, 'accept'));
    assert.equal(textOf(again.result), 'a (1)');
  });

  test('does not share its approval with the same call of another client', async () => {
    await using scene = await open(echo, [rule], improving().source);
    await (
      await openDeaf(scene, 'legacy', other)
    )('a');
    await (
      await openDeaf(scene, 'legacy')
    )('a');
    assert.deepEqual(
      scene.approvals.list().map(({ client, shown }) => [client, shown]),
      [
        ['other', '{"text":"a (1)"}'],
        ['cursor', '{"text":"a (2)"}'],
      ],
    );
  });

  test('is improved again when the approval may have expired', async () => {
    await using scene = await open(echo, [rule], improving().source);
    const call = await openDeaf(scene, 'legacy');
    await call('a');
    scene.clock.advance(2 * lifetimeMs);
    await call('a');
    assert.equal(scene.approvals.list()[0]?.shown, '{"text":"a (2)"}');
  });
});

test('tools that need a confirmation stay listed', async () => {
  await using scene = await open(echo, [{ servers: ['echo'], action: 'confirm' }]);
  const client = openAsked(scene.hub, 'all', undefined, cursor);
  await client.initialize({});
  const { result } = await client.ask('tools/list');
  assert.match(JSON.stringify(result), /"echo_echo"/);
});

test('an approval is valid for the accepted definition and program of the tool only', async () => {
  const { approvals } = await openTestApprovals();
  const step = createConfirmStep({
    approvals,
    clientRequests: { sendToClient: () => assert.fail('the client is asked') },
    clock: createManualClock(),
    key: Buffer.alloc(32),
  });
  const { server } = createScriptedServer({ name: 'echo' });
  const changing = { ...server, config: server.config, held: undefined };
  const held = { ...changing, held: new Set([heldKey('tool', 'echo')]) };
  const call = callWith('tools/call', { name: 'echo', arguments: {} });
  const confirmed = {
    decision: { action: 'confirm', rule: 'policy[0]' },
    item: {
      kind: 'tool',
      name: 'echo_echo',
      ownName: 'echo',
      hints: () => assert.fail('nothing asks for hints'),
    },
  } as const;
  await assert.rejects(
    async () => await step({ ...callTo(held, call), confirmed }, () => assert.fail()),
    { code: 'HUB_DEFINITION_HELD' },
  );
  assert.deepEqual(approvals.list(), []);

  // An approved call is refused while a changed definition of its tool is withheld, and runs once that is accepted.
  const run = async (one: Server) =>
    await step({ ...callTo(one, call), confirmed }, () => hubReply(Buffer.from('called')));
  await assert.rejects(run(changing), { code: 'HUB_APPROVAL_NEEDED' });
  await approvals.approve(approvals.list()[0]?.id ?? '', 'owner');
  await assert.rejects(run(held), { code: 'HUB_DEFINITION_HELD' });
  assert.equal(String((await run(changing)).bytes), 'called');

  // A program that replaces the server under the same name cannot use its approvals, not even permanent ones.
  await assert.rejects(run(changing), { code: 'HUB_APPROVAL_NEEDED' });
  await approvals.approve(approvals.list()[0]?.id ?? '', 'owner', true);
  assert.equal(String((await run(changing)).bytes), 'called');
  const replaced = { ...changing, config: { ...changing.config, origin: 'another package' } };
  await assert.rejects(run(replaced), { code: 'HUB_APPROVAL_NEEDED' });
});

test('without approvals, a call that a rule confirms is refused', async () => {
  const { access } = createTestAccess(echo, { policy: [rule] });
  await using hub = await startHub(echo, { access });
  const client = openAsked(hub, 'all', undefined, cursor);
  await client.initialize({ elicitation: {} });
  assert.equal(codeOf(await client.call('echo_echo', { text: 'a' })), 'HUB_APPROVAL_NEEDED');
});

describe('a call of an agent', () => {
  async function openAgent() {
    const clock = createManualClock({ passingMs: 1_000 });
    const { approvals } = await openTestApprovals({ clock, agentWaitMs: 30_000 });
    const { access } = createTestAccess(echo, { policy: [rule] });
    const granted = { ...access, grantsOf: () => ({ tools: [], servers: ['echo'] }) };
    const hub = await startHub(echo, { access: granted, approvals, clock });
    const ada: Principal = { kind: 'agent', name: 'ada', grants: { administer: false } };
    const client = openAsked(hub, 'all', undefined, ada);
    await client.initialize({});
    const answer = client.call('echo_echo', { text: 'a' });
    await until(() => approvals.waiting === 1);
    const [waiting] = approvals.list();
    assert.equal(waiting?.client, 'agent:ada');
    return { hub, clock, approvals, client, answer, id: waiting?.id ?? '' };
  }

  test('waits for the owner, and continues after an approval', async () => {
    const { hub, approvals, answer, id } = await openAgent();
    await using _hub = hub;
    await approvals.approve(id, 'owner');
    assert.equal(await answer, 'a');
    assert.deepEqual(approvals.list(), []);
  });

  test('reaches no other program than the approved one', async () => {
    const { hub, approvals, answer, id } = await openAgent();
    await using _hub = hub;
    const { config } = hub.server('echo');
    const naming = { separator: '_', maxLength: 46 } as const;
    await hub.servers.apply({ servers: [{ ...config, origin: 'another package' }], naming });
    await approvals.approve(id, 'owner');
    assert.equal(codeOf(await answer), 'HUB_APPROVAL_NEEDED');
    assert.equal(hub.server('echo').running?.upstream.relayed(), 0);
  });

  test('says what it waits for', async () => {
    const { approvals } = await openTestApprovals();
    const { access } = createTestAccess(echo, { policy: [rule] });
    const granted = { ...access, grantsOf: () => ({ tools: [], servers: ['echo'] }) };
    await using hub = await startHub(echo, { access: granted, approvals });
    const ada: Principal = { kind: 'agent', name: 'ada', grants: { administer: false } };
    const told = Promise.withResolvers<string>();
    const answer = createPrincipalRequests(ada, hub.router).request(
      'tools/call',
      { name: 'echo_echo', arguments: { text: 'a' } },
      new AbortController().signal,
      { waiting: told.resolve },
    );
    const id = /^echo_echo waits for a person: agenthub approve (\w+)$/.exec(
      await told.promise,
    )?.[1];
    await approvals.approve(id ?? '', 'owner');
    assert.equal(textOf(await answer), 'a');
  });

  test('is refused after a denial', async () => {
    const { hub, approvals, answer, id } = await openAgent();
    await using _hub = hub;
    await approvals.deny(id, 'owner');
    assert.equal(codeOf(await answer), 'HUB_APPROVAL_DENIED');
  });

  test('is refused with the id without a decision in time, and can be repeated after an approval', async () => {
    const { hub, clock, approvals, client, answer, id } = await openAgent();
    await using _hub = hub;
    clock.advance(30_000);
    const refused = await answer;
    assert.equal(codeOf(refused), 'HUB_APPROVAL_NEEDED');
    assert.equal(idOf(refused), id);
    await approvals.approve(id, 'owner');
    assert.equal(await client.call('echo_echo', { text: 'a' }), 'a');
  });
});
