import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import { openAsked } from './asking.ts';

const sample = { messages: [], maxTokens: 1 };
const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };

/** A client of 2026-07-28 on a server that keeps sessions. */
function openModern(
  hub: TestHub,
  capabilities: object = { sampling: {}, roots: {}, elicitation: {} },
) {
  const client = openAsked(hub, hub.server('asker'));
  const meta = (more: object = {}) => ({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...more,
  });
  const ask = (method: string, params: object = {}, more: object = {}) =>
    client.ask(method, { ...params, _meta: meta(more) });
  return {
    ...client,
    ask,
    async call(name: string, given: object = {}, more: object = {}) {
      const { result, error } = await ask('tools/call', { name, arguments: given, ...more });
      return { result: isObject(result) ? result : {}, error: isObject(error) ? error : undefined };
    },
  };
}

const asking = { method: 'sampling/createMessage', params: sample };

function textOf(result: { readonly [name: string]: unknown }): string {
  const { content } = result;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  return isObject(first) ? String(first['text']) : assert.fail(JSON.stringify(result));
}

const startAsker = (options: object = {}) => startHub([{ name: 'asker' }], options);

describe('a client without a session at a server that keeps one', () => {
  test('is asked by input_required, and its answer ends the call', async () => {
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

  test('is asked at once for all that the server asks at the same time, and again for what it left out', async () => {
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

  test('is not asked for what it cannot do', async () => {
    await using hub = await startAsker();
    const client = openModern(hub, { roots: {} });
    const { result } = await client.call('ask', asking);
    assert.match(textOf(result), /has not declared the capability/);
  });

  test('cannot go on with a state that was changed, used, of other arguments, or too old', async () => {
    const clock = createManualClock();
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
    assert.match(await refusal(`${requestState.slice(0, -1)}x`), /not what the hub gave out/);
    assert.match(await refusal('made up'), /not what the hub gave out/);
    assert.match(await refusal(7), /must be a string/);
    assert.match(await refusal(requestState, { ...asking, more: 1 }), /not what the hub gave out/);
    const done = await goOn(requestState);
    assert.equal(done.result['resultType'], 'complete');
    assert.match(await refusal(requestState), /over|already/);

    const again = await client.call('ask', asking);
    clock.advance(10 * 60_000 + 1);
    assert.match(await refusal(again.result['requestState']), /expired/);
    await until(() => hub.server('asker').running?.upstream.inFlight() === 0);
  });

  test('that cancels, or goes away, ends the call at the server', async () => {
    await using hub = await startAsker();
    const client = openModern(hub);
    const held = client.call('hold', { key: 'a' });
    await client.notify('notifications/cancelled', { requestId: client.lastId() });
    assert.equal((await held).error?.['code'], -32800);
    const other = openModern(hub);
    const alsoHeld = other.call('hold', { key: 'b' });
    other.session.close('gone');
    await alsoHeld;
    assert.equal(hub.server('asker').running?.upstream.inFlight(), 0);
  });

  test('gets results that say they are whole, and lists that are not to be kept', async () => {
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

  test('is told what the server logs only where its request asks for that level', async () => {
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

  test('is refused what its revision has not, and tasks of others', async () => {
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

  test('must say in each request what it can do and by which revision', async () => {
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
});
