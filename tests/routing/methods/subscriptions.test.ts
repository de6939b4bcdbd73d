import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { encodeResult, whole } from '#jsonrpc';
import {
  listenOne,
  subscribeAt,
  unsubscribeAt,
} from '../../../hub/routing/methods/subscriptions.ts';
import {
  type Call,
  type ResolvedCall,
  FailedCall,
  hubReply,
  noEdits,
} from '../../../hub/routing/call.ts';
import { cancelCall } from '../../../hub/routing/session.ts';
import { createScriptedNeeds } from '../scripted-needs.ts';
import { type Script, createScriptedServer } from '../scripted-server.ts';
import { callWith, modernMeta, sessionOf } from '../steps/scripted-call.ts';

const canSubscribe = { resources: { subscribe: true } };

function scene(script: Script = {}) {
  const there = createScriptedServer({ name: 'own' }, script);
  const all = createScriptedNeeds([there]);
  const session = sessionOf({ endpoint: there.server });
  const resource = { server: there.server, uri: 'x://a', publicUri: 'own+x://a', edits: noEdits };
  return {
    ...there,
    ...all,
    session,
    resource,
    call: (method: string) => callWith(method, { uri: 'x://a' }, { session }),
    subscribers: () => [...all.subscriptions.of(there.server, 'x://a')],
  };
}

/** Returns the result of a call that the hub answers itself. */
async function resultOf({ answer }: ResolvedCall): Promise<unknown> {
  const reply = await answer?.();
  return JSON.parse(whole(reply?.bytes ?? assert.fail('no answer')).toString()).result;
}

describe('a client with a session that subscribes', () => {
  const subscribe = (one: ReturnType<typeof scene>, call = one.call('resources/subscribe')) =>
    resultOf(subscribeAt(call, one.resource, one.needs));

  test('is subscribed at a server with sessions directly, and recorded with the response', async () => {
    const one = scene({ era: 'legacy' });
    assert.equal(await subscribe(one), 'relayed');
    assert.deepEqual(
      one.relayed.map(({ remembered }) => remembered),
      [{ kind: 'subscription', uri: 'x://a', publicUri: 'own+x://a' }],
    );
    assert.deepEqual(one.subscribers(), []);
  });

  test('is subscribed by the hub at a server of 2026-07-28, without a request to it', async () => {
    const one = scene({ era: 'modern', capabilities: canSubscribe, isRunning: false });
    assert.deepEqual(await subscribe(one), {});
    assert.deepEqual(one.subscribers(), [[one.session, 'own+x://a']]);
    assert.deepEqual(one.relayed, []);
  });

  test.each([{}, { resources: {} }, { resources: { subscribe: 'yes' } }, { resources: true }])(
    'is refused at a server of 2026-07-28 with the capabilities %j',
    async capabilities => {
      const one = scene({ era: 'modern', capabilities });
      await assert.rejects(subscribe(one), { rpcCode: -32601 });
      assert.deepEqual(one.subscribers(), []);
    },
  );

  test('is not subscribed if it has cancelled', async () => {
    const one = scene({ era: 'modern', capabilities: canSubscribe });
    const call = one.call('resources/subscribe');
    const subscribed = subscribe(one, call);
    cancelCall(call.cancellation, undefined);
    await subscribed;
    assert.deepEqual(one.subscribers(), []);
  });
});

describe('a client with a session that unsubscribes', () => {
  const unsubscribe = (one: ReturnType<typeof scene>, isServerTold = false) =>
    resultOf(
      unsubscribeAt(one.call('resources/unsubscribe'), one.resource, isServerTold, one.needs),
    );
  const add = (one: ReturnType<typeof scene>, subscriber = one.session) =>
    one.subscriptions.add(one.server, 'x://a', subscriber, 'x://a');

  test('as the last one is unsubscribed at the server', async () => {
    const one = scene();
    add(one);
    assert.equal(await unsubscribe(one), 'relayed');
    assert.deepEqual(one.subscribers(), []);
  });

  test('as one of two stays unsubscribed at the hub only', async () => {
    const one = scene();
    const other = sessionOf();
    for (const subscriber of [one.session, other]) add(one, subscriber);
    assert.deepEqual(await unsubscribe(one, true), {});
    assert.deepEqual(one.subscribers(), [[other, 'x://a']]);
  });

  test('starts no server', async () => {
    const one = scene({ isRunning: false });
    add(one);
    assert.deepEqual(await unsubscribe(one), {});
    assert.equal(one.server.running, undefined);
  });

  test('without a subscription gets the response of the one server, and an empty one for all', async () => {
    assert.equal(await unsubscribe(scene(), true), 'relayed');
    assert.deepEqual(await unsubscribe(scene(), false), {});
    assert.deepEqual(await unsubscribe(scene({ era: 'modern' }), true), {});
  });
});

describe('a client that subscribes while the last other one leaves', () => {
  /** Sends a subscription to the server. `end` answers it; the subscriber is added together with that answer. */
  function start() {
    const one = scene();
    const other = sessionOf();
    one.subscriptions.add(one.server, 'x://a', other, 'x://a');
    const answered = Promise.withResolvers<ReturnType<typeof hubReply>>();
    const needs = { ...one.needs, relay: () => answered.promise };
    const subscribed = resultOf(
      subscribeAt(one.call('resources/subscribe'), one.resource, needs),
    ).catch(() => 'refused');
    const unsubscribe = (isServerTold: boolean) =>
      resultOf(
        unsubscribeAt(
          callWith('resources/unsubscribe', { uri: 'x://a' }, { session: other }),
          one.resource,
          isServerTold,
          one.needs,
        ),
      );
    async function end(isSubscribed: boolean): Promise<void> {
      if (isSubscribed) {
        one.subscriptions.add(one.server, 'x://a', one.session, 'x://a');
        answered.resolve(hubReply(encodeResult('1', '{}')));
      } else answered.reject(new HubError('HUB_SERVER_DOWN', 'gone'));
      await subscribed;
    }
    return { ...one, other, unsubscribe, end, turn: () => new Promise(setImmediate) };
  }

  test.for([true, false])('stays subscribed at the server (of one: %s)', async isServerTold => {
    const one = start();
    await one.turn();
    assert.deepEqual(await one.unsubscribe(isServerTold), {});
    await one.end(true);
    assert.deepEqual([one.relayed, one.asked], [[], []]);
  });

  test('stays subscribed even if the other one disconnects', async () => {
    const one = start();
    await one.turn();
    one.subscriptions.removeAll(one.other);
    await one.end(true);
    assert.deepEqual(one.asked, []);
  });

  test('is unsubscribed at the server if its subscription is then refused', async () => {
    const one = start();
    await one.turn();
    one.subscriptions.removeAll(one.other);
    await one.end(false);
    assert.deepEqual(one.asked, [{ method: 'resources/unsubscribe', params: { uri: 'x://a' } }]);
  });
});

describe('a subscription that is aborted before the server has answered', () => {
  const unsubscribed = [{ method: 'resources/unsubscribe', params: { uri: 'x://a' } }];

  /**
   * Sends subscriptions to the server. `giveUp` rejects one after it was sent, as a cancellation by the client does.
   */
  function start() {
    const one = scene();
    const ask = (session = one.session) => {
      const answered = Promise.withResolvers<ReturnType<typeof hubReply>>();
      const needs = { ...one.needs, relay: () => answered.promise };
      const call = callWith('resources/subscribe', { uri: 'x://a' }, { session });
      const over = resultOf(subscribeAt(call, one.resource, needs)).catch(() => 'failed');
      return { answered, over };
    };
    async function giveUp({ answered, over }: ReturnType<typeof ask>, wasSent = true) {
      const error = new HubError('HUB_CALL_CANCELLED', 'the client gave it up');
      answered.reject(wasSent ? new FailedCall(error, 1) : error);
      assert.equal(await over, 'failed');
    }
    return { ...one, ask, giveUp, turn: () => new Promise(setImmediate) };
  }

  test('is ended at the server, which may have subscribed', async () => {
    const one = start();
    const asked = one.ask();
    await one.turn();
    await one.giveUp(asked);
    assert.deepEqual(one.asked, unsubscribed);
  });

  test('is not ended at the server if the request was not sent, or others are subscribed', async () => {
    const one = start();
    const unsent = one.ask();
    await one.turn();
    await one.giveUp(unsent, false);
    one.subscriptions.add(one.server, 'x://a', sessionOf(), 'x://a');
    const sent = one.ask();
    await one.turn();
    await one.giveUp(sent);
    assert.deepEqual(one.asked, []);
  });

  test.for([true, false])(
    'waits for another request, even of the same client (%s)',
    async isSame => {
      const one = start();
      const [first, second] = [one.ask(), one.ask(isSame ? one.session : sessionOf())];
      await one.turn();
      await one.giveUp(first);
      assert.deepEqual(one.asked, []);
      await one.giveUp(second, false);
      assert.deepEqual(one.asked, unsubscribed);
    },
  );
});

describe('a client that listens', () => {
  function listen(one: ReturnType<typeof scene>, uris: readonly string[] = ['x://a']) {
    const told: { method: string; params: { notifications: object } }[] = [];
    const responseStream = { send: (bytes: Buffer) => void told.push(JSON.parse(String(bytes))) };
    const call: Call = callWith(
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: uris }, _meta: modernMeta() },
      { session: one.session, responseStream },
    );
    const { answer } = listenOne(call, one.needs);
    return { call, told, over: Promise.resolve(answer?.()) };
  }
  const turn = () => new Promise(setImmediate);
  const honouredOf = ({ told }: ReturnType<typeof listen>) => told[0]?.params.notifications;

  test('is subscribed by the hub at a server with sessions, once for all listeners', async () => {
    const one = scene({ era: 'legacy', capabilities: canSubscribe });
    const first = listen(one);
    await turn();
    const second = listen(one);
    await turn();
    const subscribed = { method: 'resources/subscribe', params: { uri: 'x://a' } };
    assert.deepEqual(one.asked, [subscribed]);
    for (const listening of [first, second])
      assert.deepEqual(honouredOf(listening), { resourceSubscriptions: ['x://a'] });
    cancelCall(first.call.cancellation, undefined);
    await assert.rejects(first.over, { code: 'HUB_CALL_CANCELLED' });
    assert.deepEqual(one.asked, [subscribed], 'the other still listens');
    cancelCall(second.call.cancellation, undefined);
    await assert.rejects(second.over, { code: 'HUB_CALL_CANCELLED' });
    assert.deepEqual(one.asked[1], { ...subscribed, method: 'resources/unsubscribe' });
  });

  test.each([
    ['cannot subscribe', { capabilities: {} }],
    [
      'refuses it',
      {
        capabilities: canSubscribe,
        replies() {
          throw new HubError('HUB_SERVER_DOWN', 'gone');
        },
      },
    ],
  ])('is notified that a server %s', async (_, script) => {
    const one = scene({ era: 'legacy', ...script });
    const listening = listen(one);
    await turn();
    assert.deepEqual(honouredOf(listening), { resourceSubscriptions: [] });
    assert.deepEqual(one.subscribers(), []);
    one.streams.endAll();
    await listening.over;
  });

  test('has its subscription ended by the hub if the server answered too late', async () => {
    const one = scene({
      era: 'legacy',
      capabilities: canSubscribe,
      replies(method) {
        if (method === 'resources/unsubscribe') return {};
        throw new HubError('HUB_CALL_TIMEOUT', 'own did not answer resources/subscribe');
      },
    });
    const listening = listen(one);
    await turn();
    assert.deepEqual(honouredOf(listening), { resourceSubscriptions: [] });
    assert.deepEqual(
      one.asked.map(({ method }) => method),
      ['resources/subscribe', 'resources/unsubscribe'],
    );
    one.streams.endAll();
    await listening.over;
  });

  test('and cancels during the request to a server has no subscription', async () => {
    let cancel = () => {};
    const one = scene({
      era: 'legacy',
      capabilities: canSubscribe,
      replies() {
        cancel();
        return {};
      },
    });
    const listening = listen(one, ['x://a', 'x://b']);
    cancel = () => cancelCall(listening.call.cancellation, undefined);
    await assert.rejects(listening.over, { code: 'HUB_CALL_CANCELLED' });
    assert.deepEqual(
      one.asked,
      ['resources/subscribe', 'resources/unsubscribe'].map(method => ({
        method,
        params: { uri: 'x://a' },
      })),
    );
    assert.deepEqual(one.subscribers(), []);
    assert.deepEqual(listening.told, []);
  });

  test('and cancels before a server runs opens no stream', async () => {
    const one = scene({ era: 'legacy', capabilities: canSubscribe });
    const listening = listen(one);
    cancelCall(listening.call.cancellation, undefined);
    await assert.rejects(listening.over, { code: 'HUB_CALL_CANCELLED' });
    assert.deepEqual([one.asked, one.streams.isHeard(one.server)], [[], false]);
  });
});
