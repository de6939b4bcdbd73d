import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject, systemClock } from '#core';
import { type TestHub, startHub, until } from '#helpers/hub';
import { lifetimeMs, openTestApprovals } from '../approvals/test-approvals.ts';
import type { Json, RawClient } from '../contracts/client-transport.ts';
import { at } from '../routing/modern.ts';
import { createTestAccess } from '../routing/test-access.ts';
import {
  openOnStdio,
  openOverBridge,
  openSse,
  openStreamable,
  openWebSocket,
} from './raw-clients.ts';
import { postModern } from './raw.ts';

const transports: Readonly<Record<string, (hub: TestHub) => Promise<RawClient>>> = {
  'streamable HTTP': hub => openStreamable(hub),
  WebSocket: hub => openWebSocket(hub),
  SSE: hub => openSse(hub),
  stdio: hub => openOnStdio(hub, undefined, 'lines'),
  'connect-stdio': hub => openOverBridge(hub, undefined, 'lines'),
};

const accepted = { action: 'accept', content: {} } as const;

const modernMeta = (capabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});

describe.each(Object.entries(transports))(
  'a call that requires an approval over %s',
  (name, open) => {
    let hub: TestHub;
    /** Time by which the clock of the approvals is ahead of the system's, in ms. */
    let later = 0;
    let approvals: Awaited<ReturnType<typeof openTestApprovals>>['approvals'];
    beforeAll(async () => {
      // Only the approvals read this clock: timers of other parts continue.
      const clock = { ...systemClock, now: () => systemClock.now() + later };
      ({ approvals } = await openTestApprovals({ clock }));
      const { access } = createTestAccess([{ name: 'echo' }], {
        policy: [{ tools: ['echo_echo'], action: 'confirm' }],
      });
      hub = await startHub([{ name: 'echo' }], { access, approvals });
    });
    afterAll(() => hub?.[Symbol.asyncDispose]());

    async function join(capabilities: object) {
      const client = await open(hub);
      let last = 0;
      const received = async (matches: (message: Json) => boolean): Promise<Json> => {
        await until(() => client.received.some(matches));
        return client.received.find(matches) ?? {};
      };
      const ask = (method: string, params: object): Promise<Json> => {
        const id = `mine-${++last}`;
        client.send({ jsonrpc: '2.0', id, method, params });
        return received(message => message['id'] === id && !('method' in message));
      };
      await ask('initialize', {
        protocolVersion: '2025-11-25',
        capabilities,
        clientInfo: { name: 'confirm', version: '1' },
      });
      client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      return {
        client,
        call: (text: string, more: object = {}) =>
          ask('tools/call', { name: 'echo_echo', arguments: { text }, ...more }),
        /** Resolves with question number `count` that the hub asks this client. */
        question: async (count: number): Promise<Json> => {
          const all = () => client.received.filter(({ method }) => method === 'elicitation/create');
          await until(() => all().length >= count);
          return all()[count - 1] ?? {};
        },
      };
    }

    const textIn = (answer: Json) => {
      const content = at(answer, 'result', 'content');
      const [first]: readonly unknown[] = Array.isArray(content) ? content : [];
      return isObject(first) ? first['text'] : at(answer, 'error', 'data', 'code');
    };

    test('is refused to a client without elicitation, and runs once when it is approved', async () => {
      const { client, call } = await join({});
      const refused = await call('a');
      assert.equal(textIn(refused), 'HUB_APPROVAL_NEEDED');
      await approvals.approve(String(at(refused, 'error', 'data', 'approval')), 'owner');
      assert.equal(textIn(await call('b')), 'HUB_APPROVAL_NEEDED');
      assert.equal(textIn(await call('a')), 'a');
      assert.equal(textIn(await call('a')), 'HUB_APPROVAL_NEEDED');
      client.close();
    });

    test('causes an elicitation in the session, which is accepted or declined', async () => {
      const { client, call, question } = await join({ elicitation: {} });
      for (const [count, action, expected] of [
        [1, 'accept', 'c'],
        [2, 'decline', 'HUB_APPROVAL_DENIED'],
      ] as const) {
        const answer = call('c');
        const { id } = await question(count);
        client.send({ jsonrpc: '2.0', id, result: { action, content: {} } });
        assert.equal(textIn(await answer), expected);
      }
      client.close();
    });

    test('is not approved by an answer after the timeout', async () => {
      const { client, call } = await join({});
      const refused = await call('late');
      later += lifetimeMs;
      const id = String(at(refused, 'error', 'data', 'approval'));
      await assert.rejects(approvals.approve(id, 'owner'), { code: 'HUB_APPROVAL_UNKNOWN' });
      const again = String(at(await call('late'), 'error', 'data', 'approval'));
      assert.notEqual(again, id);
      await approvals.approve(again, 'owner');
      later += lifetimeMs;
      assert.equal(textIn(await call('late')), 'HUB_APPROVAL_NEEDED');
      client.close();

      const asked = await join({ elicitation: {} });
      const answer = asked.call('late');
      const question = await asked.question(1);
      later += lifetimeMs;
      asked.client.send({ jsonrpc: '2.0', id: question['id'], result: accepted });
      assert.equal(textIn(await answer), 'HUB_APPROVAL_UNKNOWN');
      asked.client.close();
    });

    test('cannot be answered by another session of the same principal', async () => {
      const [mine, others] = [await join({ elicitation: {} }), await join({ elicitation: {} })];
      const answer = mine.call('mine');
      const { id } = await mine.question(1);
      others.client.send({ jsonrpc: '2.0', id, result: accepted });
      // The hub asks the next question only after it has read the answer above.
      const other = others.call('others');
      const question = await others.question(1);
      assert.equal(approvals.waiting >= 2, true);
      others.client.send({ jsonrpc: '2.0', id: question['id'], result: accepted });
      assert.equal(textIn(await other), 'others');
      mine.client.send({ jsonrpc: '2.0', id, result: { action: 'decline' } });
      assert.equal(textIn(await answer), 'HUB_APPROVAL_DENIED');
      mine.client.close();
      others.client.close();
    });

    // A session of streamable HTTP always uses a revision before 2026-07-28.
    test.skipIf(name === 'streamable HTTP')(
      'causes input_required in 2026-07-28, and a replay is refused',
      async () => {
        const { client, call } = await join({});
        const _meta = modernMeta({ elicitation: {} });
        const asked = await call('d', { _meta });
        assert.equal(at(asked, 'result', 'resultType'), 'input_required');
        const answered = {
          _meta,
          requestState: at(asked, 'result', 'requestState'),
          inputResponses: { approval: { action: 'accept', content: {} } },
        };
        assert.equal(textIn(await call('e', answered)), 'HUB_STATE_INVALID');
        assert.equal(textIn(await call('d', answered)), 'd');
        assert.equal(textIn(await call('d', answered)), 'HUB_STATE_INVALID');
        const late = await call('f', { _meta });
        later += lifetimeMs;
        const tooLate = { ...answered, requestState: at(late, 'result', 'requestState') };
        assert.equal(textIn(await call('f', tooLate)), 'HUB_STATE_INVALID');
        client.close();
      },
    );
  },
);

test('a call of 2026-07-28 over streamable HTTP is not approved by a late answer', async () => {
  let later = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + later };
  const { approvals } = await openTestApprovals({ clock });
  const { access } = createTestAccess([{ name: 'echo' }], {
    policy: [{ tools: ['echo_echo'], action: 'confirm' }],
  });
  await using hub = await startHub([{ name: 'echo' }], { access, approvals });
  async function call(capabilities: object, more: object = {}) {
    const params = { name: 'echo_echo', arguments: { text: 'a' }, ...more };
    const answer = await postModern(`${hub.url}/mcp`, 'tools/call', {
      params: { _meta: modernMeta(capabilities), ...params },
      headers: { 'mcp-name': 'echo_echo' },
    });
    return await answer.json();
  }
  const codeOf = (answer: unknown) => at(answer, 'error', 'data', 'code');

  const asks = { elicitation: {} };
  const answered = async () => ({
    requestState: at(await call(asks), 'result', 'requestState'),
    inputResponses: { approval: accepted },
  });
  assert.equal(codeOf(await call(asks, await answered())), undefined);
  const late = await answered();
  later += lifetimeMs;
  assert.equal(codeOf(await call(asks, late)), 'HUB_STATE_INVALID');

  const refused = await call({});
  assert.equal(codeOf(refused), 'HUB_APPROVAL_NEEDED');
  const id = String(at(refused, 'error', 'data', 'approval'));
  await approvals.approve(id, 'owner');
  later += lifetimeMs;
  assert.equal(codeOf(await call({})), 'HUB_APPROVAL_NEEDED');
  await assert.rejects(approvals.approve(id, 'owner'), { code: 'HUB_APPROVAL_UNKNOWN' });
});
