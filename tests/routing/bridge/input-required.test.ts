import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import { openAsked } from '../asking.ts';
import { maxWaitingPerPrincipal } from '../../../hub/routing/bridge/input-required.ts';
import { openModern as openModernAt, textOf } from '../modern.ts';

const sample = { messages: [], maxTokens: 1 };
const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };

/** Opens a client of 2026-07-28 at a server with sessions. */
const openModern = (hub: TestHub, capabilities?: object) =>
  openModernAt(hub, hub.server('asker'), capabilities);

const asking = { method: 'sampling/createMessage', params: sample };

/** Opens a client of 2026-07-28 that sends its name, so that the hub sees all its requests as those of one client. */
const openNamed = (hub: TestHub) =>
  openModernAt(hub, hub.server('asker'), undefined, { name: 'ada', version: '1' });

const startAsker = (options: object = {}) => startHub([{ name: 'asker' }], options);

describe('a client without a session at a server that keeps one', () => {
  test('gets input_required for a request of the server, and its answer completes the call', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const { result } = await client.call('ask', asking);
    assert.equal(result['resultType'], 'input_required');
    assert.deepEqual(result['inputRequests'], { 1: asking });
    assert.equal(client.asked.length, 0, 'nothing is sent as a request');
    const { requestState } = result;
    const done = await client.call('ask', asking, {
      requestState,
      inputResponses: { 1: sampled, other: {} },
    });
    assert.equal(done.result['resultType'], 'complete');
    assert.deepEqual(JSON.parse(textOf(done.result)), { result: sampled });
    assert.equal(hub.server('asker').running?.upstream.inFlight(), 0);
  });

  test.each(['withdraw', 'asker_withdraw'])(
    'gets the result of a call with `task`, which its revision ignores: %s',
    async name => {
      await using hub = await startAsker();
      const endpoint = name === 'withdraw' ? hub.server('asker') : 'all';
      const { result } = await openModernAt(hub, endpoint).call(
        name,
        {},
        { task: { ttl: 60_000 } },
      );
      assert.deepEqual([textOf(result), result['task']], ['withdrawn', undefined]);
    },
  );

  test('gets all concurrent requests of the server at once, and unanswered ones again', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const roots = { method: 'roots/list', params: {} };
    const given = { requests: [asking, roots] };
    const first = await client.call('ask-all', given);
    assert.deepEqual(first.result['inputRequests'], { 1: asking, 2: roots });
    const second = await client.call('ask-all', given, {
      requestState: first.result['requestState'],
      inputResponses: { 1: sampled },
    });
    assert.deepEqual(second.result['inputRequests'], { 2: roots });
    const third = await client.call('ask-all', given, {
      requestState: second.result['requestState'],
      inputResponses: { 2: { roots: [] } },
    });
    assert.deepEqual(JSON.parse(textOf(third.result)), [sampled, { roots: [] }]);
  });

  test('gets no request beyond its capabilities', async () => {
    await using hub = await startAsker();
    const client = openModern(hub, { roots: {} });
    const { result } = await client.call('ask', asking);
    assert.match(textOf(result), /has not declared the capability/);
  });

  test('cannot continue with a state that was changed, used, expired or is of other arguments', async () => {
    const clock = createManualClock({ passingMs: 10 });
    await using hub = await startAsker({ clock });
    const client = openModern(hub);
    const { result } = await client.call('ask', asking);
    const requestState = String(result['requestState']);
    const inputResponses = { 1: sampled };
    const goOn = (state: unknown, given: object = asking) =>
      client.call('ask', given, { requestState: state, inputResponses });
    const refusal = async (state: unknown, given?: object) => {
      const { error } = await goOn(state, given);
      assert.equal(error?.['code'], -32602);
      return String(error?.['message']);
    };
    assert.match(await refusal(`${requestState.slice(0, -1)}x`), /not issued by the hub/);
    assert.match(await refusal('made up'), /not issued by the hub/);
    assert.match(await refusal(7), /must be a string/);
    assert.match(await refusal(requestState, { ...asking, more: 1 }), /not issued by the hub/);
    const done = await goOn(requestState);
    assert.equal(done.result['resultType'], 'complete');
    assert.match(await refusal(requestState), /over|already/);

    const again = await client.call('ask', asking);
    clock.advance(10 * 60_000 + 1);
    assert.match(await refusal(again.result['requestState']), /expired/);
    await until(() => hub.server('asker').running?.upstream.inFlight() === 0);
  });

  test('that cancels or disconnects cancels the call at the server', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const held = client.request('tools/call', { name: 'hold', arguments: { key: 'a' } });
    await client.notify('notifications/cancelled', { requestId: client.lastId() });
    assert.equal(await held, undefined);
    const other = openModern(hub);
    const alsoHeld = other.call('hold', { key: 'b' });
    other.session.close('gone');
    await alsoHeld;
    assert.equal(hub.server('asker').running?.upstream.inFlight(), 0);
  });

  test('gets results marked as complete, and lists marked as not cacheable', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const { result } = await client.ask('tools/list');
    assert.ok(isObject(result));
    const { tools, ...rest } = result;
    assert.ok(Array.isArray(tools));
    assert.deepEqual(rest, { resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    const discovered = await client.ask('server/discover');
    assert.deepEqual(discovered['result'], {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, logging: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'asker', version: '1.0.0' } },
      ttlMs: 0,
      cacheScope: 'private',
    });
  });

  test('gets log messages of the server only at the level that its request has', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    await client.call('log', { data: 'unheard' });
    await client.ask(
      'tools/call',
      { name: 'log', arguments: { data: 'heard' } },
      { 'io.modelcontextprotocol/logLevel': 'info' },
    );
    await client.ask(
      'tools/call',
      { name: 'log', arguments: { data: 'too low' } },
      { 'io.modelcontextprotocol/logLevel': 'error' },
    );
    assert.deepEqual(
      client.told.map(({ params }) => isObject(params) && params['data']),
      ['heard'],
    );
  });

  test('is refused methods that its revision lacks, and tasks of others', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const codeOf = async (method: string, params: object) => {
      const { error } = await client.ask(method, params);
      return isObject(error) ? error['code'] : undefined;
    };
    assert.equal(await codeOf('ping', {}), -32601);
    assert.equal(await codeOf('initialize', {}), -32601);
    assert.equal(await codeOf('tasks/get', { taskId: 'task-1' }), -32601);
    assert.equal(await codeOf('no/such', {}), -32601);
  });

  test('must send its capabilities and its revision with each request', async () => {
    await using hub = await startAsker();
    const client = openAsked(hub, hub.server('asker'));
    const version = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const codeOf = async (params: object) => {
      const { error } = await client.ask('server/discover', params);
      return isObject(error) ? [error['code'], error['data']] : undefined;
    };
    assert.equal((await codeOf({}))?.[0], -32602);
    assert.equal((await codeOf({ _meta: version }))?.[0], -32602);
    const other = { 'io.modelcontextprotocol/protocolVersion': '2027-01-01' };
    assert.deepEqual(await codeOf({ _meta: other }), [
      -32022,
      { code: 'HUB_VERSION_UNSUPPORTED', supported: ['2026-07-28'], requested: '2027-01-01' },
    ]);
  });

  test('cannot continue a call of another principal', async () => {
    await using hub = await startAsker();
    const info = { name: 'ada', version: '1' };
    const other: Principal = { kind: 'client', name: 'other', grants: { administer: false } };
    const own = openModernAt(hub, hub.server('asker'), undefined, info);
    const foreign = openModernAt(hub, hub.server('asker'), undefined, info, other);
    const { result } = await own.call('ask', asking);
    const { requestState } = result;
    const more = { requestState, inputResponses: { 1: sampled } };
    const { error } = await foreign.call('ask', asking, more);
    assert.match(String(error?.['message']), /not issued by the hub/);
    const done = await own.call('ask', asking, more);
    assert.equal(done.result['resultType'], 'complete');
  });

  test('cannot block requests to other clients, however many calls it leaves unanswered', async () => {
    await using hub = await startHub([
      { name: 'asker', maxConcurrentCalls: 2_000 },
      { name: 'other', file: 'asker.mjs' },
    ]);
    const other: Principal = { kind: 'client', name: 'other', grants: { administer: false } };
    const own = openModernAt(hub, hub.server('asker'));
    const foreign = openModernAt(hub, hub.server('other'), undefined, undefined, other);
    const left = await Promise.all(
      Array.from({ length: maxWaitingPerPrincipal }, () => own.call('ask', asking)),
    );
    assert.ok(left.every(({ result }) => result['resultType'] === 'input_required'));
    const { result } = await own.call('ask', asking);
    assert.match(textOf(result), /1000 calls of this client wait for its answers already/);
    const asked = await foreign.call('ask', asking);
    assert.equal(asked.result['resultType'], 'input_required');
  });

  test('cannot make the hub store large calls that wait for its answers', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const large = { ...asking, pad: 'x'.repeat(40 * 2 ** 20) };
    const first = await client.call('ask', large);
    assert.equal(first.result['resultType'], 'input_required');
    const second = await client.call('ask', large);
    assert.match(textOf(second.result), /the calls that wait for answers of this client have 419/);
    const small = await client.call('ask', asking);
    assert.equal(small.result['resultType'], 'input_required');
  });

  test('cannot continue a call at another endpoint', async () => {
    await using hub = await startHub([{ name: 'asker' }, { name: 'other', file: 'asker.mjs' }]);
    const client = openModern(hub);
    const { result } = await client.call('ask', asking);
    const { requestState } = result;
    const more = { requestState, inputResponses: { 1: sampled } };
    const elsewhere = await openModernAt(hub, hub.server('other')).call('ask', asking, more);
    assert.match(String(elsewhere.error?.['message']), /not issued by the hub/);
    const done = await client.call('ask', asking, more);
    assert.equal(done.result['resultType'], 'complete');
  });

  test('does not get a request that the server has cancelled', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const { result } = await client.call('ask-and-withdraw', asking);
    assert.equal(result['resultType'], 'complete');
    assert.match(textOf(result), /withdrew/);
  });

  test('does not get a request again that the server cancelled after it was sent', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const roots = { method: 'roots/list', params: {} };
    const given = { ...asking, next: roots };
    const first = await client.call('ask-and-wait', given);
    assert.deepEqual(first.result['inputRequests'], { 1: asking });
    await openModern(hub).call('withdraw');
    const second = await client.call('ask-and-wait', given, {
      requestState: first.result['requestState'],
      inputResponses: {},
    });
    assert.deepEqual(second.result['inputRequests'], { 2: roots });
    const done = await client.call('ask-and-wait', given, {
      requestState: second.result['requestState'],
      inputResponses: { 2: { roots: [] } },
    });
    assert.match(textOf(done.result), /withdrew.*"roots":\[\]/);
  });

  test('continues at its own instance, even while no other instance can be started', async () => {
    await using hub = await startHub([{ name: 'asker', instance: 'session', maxInstances: 1 }]);
    const client = openModern(hub);
    const { result } = await client.call('ask', asking);
    const { requestState } = result;
    const other = await openModernAt(hub, hub.server('asker'), {}, { name: 'other' }).call('pid');
    assert.match(String(other.error?.['message']), /runs for 1 sessions already/);
    const done = await client.call('ask', asking, {
      requestState,
      inputResponses: { 1: sampled },
    });
    assert.deepEqual(JSON.parse(textOf(done.result)), { result: sampled });
  });
});

describe('a client without a session that is sent to URLs', () => {
  const page = { mode: 'url', message: 'Sign in', url: 'https://example.com/', elicitationId: 'e' };
  const open = (hub: TestHub) => openModern(hub, { elicitation: { url: {} } });
  const wanting = { elicitations: [page] };
  const visited = (requestState: unknown, action = 'accept') => ({
    requestState,
    inputResponses: { 1: { action } },
  });

  test('gets an error if the visit was declined', async () => {
    await using hub = await startAsker();
    const client = open(hub);
    const { result } = await client.call('needs-pages', wanting);
    const more = visited(result['requestState'], 'decline');
    const { error } = await client.call('needs-pages', wanting, more);
    assert.match(String(error?.['message']), /asker .* a page was visited.*"decline"/);
  });

  test('gets an error after ten times', async () => {
    await using hub = await startAsker();
    const client = open(hub);
    let told = await client.call('needs-pages', wanting);
    for (let times = 1; times < 10; times++) {
      assert.equal(told.result['resultType'], 'input_required');
      told = await client.call('needs-pages', wanting, visited(told.result['requestState']));
    }
    assert.equal(told.result['resultType'], 'input_required');
    told = await client.call('needs-pages', wanting, visited(told.result['requestState']));
    assert.match(String(told.error?.['message']), /sent the client to pages 10 times/);
  });

  test('gets an error if the list of URLs is empty or invalid', async () => {
    await using hub = await startAsker();
    const client = open(hub);
    for (const elicitations of [[], [{ message: 'no url' }], 7]) {
      const { error } = await client.call('needs-pages', { elicitations });
      assert.match(String(error?.['message']), /asker wants pages to be visited and names none/);
    }
  });
});

describe('the concurrent calls of one client', () => {
  test('carry requests for each other, which stay answerable when the carrying call ends', async () => {
    await using hub = await startAsker();
    const client = openNamed(hub);
    const upstream = () => hub.server('asker').running?.upstream;
    const held = client.call('hold', { key: 'a' });
    await until(() => upstream()?.inFlight() === 1);
    const asking = client.call('ask', { method: 'sampling/createMessage', params: sample });
    const { result: question } = await held;
    assert.equal(question['resultType'], 'input_required', 'the oldest call carries it');
    await client.call('release', { key: 'a' });
    assert.equal(upstream()?.inFlight(), 1, 'the call that is held is answered');
    const { result } = await client.call(
      'hold',
      { key: 'a' },
      { requestState: question['requestState'], inputResponses: { 1: sampled } },
    );
    assert.equal(textOf(result), 'held a');
    assert.deepEqual(JSON.parse(textOf((await asking).result)), { result: sampled });
  });

  test('get no log message that may be about another of them', async () => {
    await using hub = await startAsker();
    const client = openNamed(hub);
    const debug = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const params = (name: string, given: object) => ({ name, arguments: given });
    void client.ask('tools/call', params('hold', { key: 'a' }), debug);
    await until(() => hub.server('asker').running?.upstream.inFlight() === 1);
    await client.ask('tools/call', params('log', { data: 'whose?' }), debug);
    await client.ask('tools/call', params('release', { key: 'a' }), debug);
    await client.ask('tools/call', params('log', { data: 'mine' }), debug);
    assert.deepEqual(
      client.told.map(({ params: told }) => isObject(told) && told['data']),
      ['mine'],
    );
  });
});
