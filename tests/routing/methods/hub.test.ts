import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { encodeError, encodeResult, whole } from '#jsonrpc';
import type { Endpoint } from '#routing';
import type { Call, ResolvedCall } from '../../../hub/routing/call.ts';
import {
  discoverAll,
  discoverOne,
  initializeAll,
  initializeOne,
  setLevel,
} from '../../../hub/routing/methods/hub.ts';
import type { Method } from '../../../hub/routing/methods/method.ts';
import { createScriptedNeeds } from '../scripted-needs.ts';
import { type Script, createScriptedServer } from '../scripted-server.ts';
import { callWith, sessionOf } from '../steps/scripted-call.ts';

function scene(scripts: Readonly<Record<string, Script>> = {}) {
  const scripted = Object.entries(scripts).map(([name, script]) =>
    createScriptedServer({ name }, script),
  );
  const all = createScriptedNeeds(scripted);
  const resolve = (method: Method, call: Call) => method(call, all.needs);
  return {
    ...all,
    resolve,
    server: scripted[0]?.server ?? createScriptedServer({ name: 'none' }).server,
    callOf: (params: object | string, endpoint: Endpoint = 'all') =>
      callWith('any', params, { session: sessionOf({ endpoint }) }),
    resultOf: async (method: Method, call: Call) => {
      const reply = await resolve(method, call).answer?.();
      return JSON.parse(whole(reply?.bytes ?? assert.fail('no answer')).toString()).result;
    },
  };
}

describe('initialize', () => {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: { roots: {} },
    clientInfo: { name: 'ada' },
  };

  test('stores the client information unchanged', async () => {
    const one = scene();
    const call = one.callOf(
      '{"protocolVersion":"2025-06-18","capabilities":{ "roots" : {} },"clientInfo":"ada"}',
    );
    assert.equal((await one.resultOf(initializeAll, call)).protocolVersion, '2025-06-18');
    assert.deepEqual(call.session.client, { capabilities: '{ "roots" : {} }', clientInfo: '{}' });
    assert.equal(call.session.protocolVersion, '2025-06-18');
  });

  test.each([
    ['the result of a server with sessions, with the revision of the client', 'legacy'],
    ['a result of what a server of 2026-07-28 says of itself', 'modern'],
  ] as const)('at one server is %s', async (_, era) => {
    const serverInfo = { name: 'own', version: '1', title: 'Own' };
    const handshake =
      era === 'legacy'
        ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo, more: 1 }
        : { _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } };
    const one = scene({ own: { era, handshake, capabilities: { tools: {} }, isRunning: false } });
    const call = one.callOf(params, one.server);
    assert.equal(one.resolve(initializeOne, call).server, one.server, 'it is started for it');
    assert.deepEqual(await one.resultOf(initializeOne, call), {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo,
      ...(era === 'legacy' && { more: 1 }),
    });
    assert.equal(one.resolve(initializeOne, call).server, undefined, 'it runs already');
  });

  test('of a server of 2026-07-28 with incomplete information names its program', async () => {
    const one = scene({ own: { era: 'modern' } });
    const { serverInfo } = await one.resultOf(initializeOne, one.callOf(params, one.server));
    assert.deepEqual(serverInfo, { name: 'own', version: '1' });
  });

  test('that the server fails can be repeated', async () => {
    const one = scene({ own: {} });
    const server = {
      ...one.server,
      running: undefined,
      ready: () => Promise.reject(new Error('no')),
    };
    const call = one.callOf(params, server);
    await assert.rejects(one.resultOf(initializeOne, call), /no/);
    assert.deepEqual([call.session.client, call.session.protocolVersion], [undefined, undefined]);
  });

  test('is refused a second time, and without a revision', async () => {
    const one = scene();
    const call = one.callOf(params);
    await one.resultOf(initializeAll, call);
    const again = callWith('initialize', params, { session: call.session });
    await assert.rejects(one.resultOf(initializeAll, again), /initialized already/);
    const without = one.callOf({ ...params, protocolVersion: 7 });
    await assert.rejects(one.resultOf(initializeAll, without), /"params.protocolVersion" must be/);
    assert.equal(without.session.client, undefined);
  });
});

describe('server/discover', () => {
  const extension = (value: number) => ({ extensions: { shared: { value }, [`of-${value}`]: {} } });

  test('of all servers has the extensions of running servers, the first taking precedence', async () => {
    const one = scene({
      first: { capabilities: extension(1) },
      second: { capabilities: extension(2) },
      stopped: { capabilities: extension(3), isRunning: false },
      odd: { capabilities: { extensions: 'none' } },
    });
    const { capabilities } = await one.resultOf(discoverAll, one.callOf({}));
    assert.deepEqual(capabilities.extensions, { shared: { value: 1 }, 'of-1': {}, 'of-2': {} });
  });

  test('of all servers has no extensions if no server has one', async () => {
    const one = scene({ first: { capabilities: { extensions: {} } } });
    const { capabilities } = await one.resultOf(discoverAll, one.callOf({}));
    assert.ok(!('extensions' in capabilities));
  });

  test('of a server with sessions is derived from its initialize result', async () => {
    const handshake = { capabilities: { tools: {}, tasks: {} }, serverInfo: { name: 'own' } };
    const one = scene({ own: { era: 'legacy', handshake, isRunning: false } });
    assert.deepEqual(await one.resultOf(discoverOne, one.callOf({}, one.server)), {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'own' } },
      ttlMs: 0,
      cacheScope: 'private',
    });
  });

  describe('of a server of 2026-07-28 is its own result', () => {
    async function restored(bytes: Buffer): Promise<Buffer> {
      const one = scene({ own: { era: 'modern' } });
      await one.resultOf(discoverOne, one.callOf({}, one.server));
      const [relayed]: readonly ResolvedCall[] = one.relayed;
      return relayed?.restored?.(bytes) ?? assert.fail('it is not changed');
    }

    test('with the revisions of the hub', async () => {
      const bytes = await restored(encodeResult('1', '{"supportedVersions":["2099-01-01"],"x":1}'));
      const { result } = JSON.parse(bytes.toString());
      assert.deepEqual(result, { supportedVersions: ['2026-07-28'], x: 1 });
    });

    test.each([
      ['an error', encodeError('1', -32603, 'no')],
      ['no object', encodeResult('1', '[]')],
    ])('even if it is %s', async (_, bytes) => {
      assert.equal(await restored(bytes), bytes);
    });
  });
});

test.each([{}, { level: 7 }, { level: 'loud' }, { level: null }])(
  'the level %j is refused, and nothing is changed',
  async params => {
    const one = scene();
    const call = one.callOf(params);
    await assert.rejects(one.resultOf(setLevel, call), /it must be one of debug, info/);
    assert.deepEqual([call.session.logLevel, one.levels.changes], [undefined, 0]);
  },
);

test('a level is stored in the session, and sent to the servers', async () => {
  const one = scene();
  const call = one.callOf({ level: 'error' });
  assert.deepEqual(await one.resultOf(setLevel, call), {});
  assert.deepEqual([call.session.logLevel, one.levels.changes], ['error', 1]);
});
