import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { createOwnership } from '../../../hub/routing/events/ownership.ts';
import { createSessionState } from '../../../hub/routing/session.ts';
import { openAsked } from '../asking.ts';

const openSession = () =>
  createSessionState(
    '1',
    {
      endpoint: 'all',
      principal: caller,
      send() {},
      isConnected: () => true,
      isSessionless: false,
    },
    { forward() {} },
  );

test('claims of a session beyond its limit displace the oldest', () => {
  const claims = createOwnership<undefined>(3);
  const [ada, source] = [openSession(), {}];
  for (const id of ['a', 'b', 'c', 'd']) claims.add(ada, { source, id, about: undefined });
  claims.add(ada, { source, id: 'd', about: undefined });
  assert.deepEqual(
    claims.of(ada).map(({ id }) => id),
    ['b', 'c', 'd'],
  );
  assert.equal(claims.ownerOf(source, 'a'), undefined);
  assert.equal(claims.ownerOf(source, 'b'), ada);
  assert.equal(claims.size, 3);
});

test('server ids that are too long are not stored', () => {
  const owned = createOwnership<undefined>(3);
  const [ada, source] = [openSession(), {}];
  for (const length of [1024, 1025])
    owned.add(ada, { source, id: 'i'.repeat(length), about: undefined });
  assert.deepEqual(
    owned.of(ada).map(({ id }) => id.length),
    [1024],
  );
});

test('an id that two sessions claim belongs to neither until one of them gives it up', () => {
  const claims = createOwnership<undefined>(3);
  const [ada, eve, source, other] = [openSession(), openSession(), {}, {}];
  for (const session of [ada, eve]) claims.add(session, { source, id: 'x', about: undefined });
  assert.equal(claims.ownerOf(source, 'x'), undefined);
  assert.equal(claims.ownerOf(other, 'x'), undefined);
  claims.removeAll(ada);
  assert.equal(claims.ownerOf(source, 'x'), eve);
  claims.add(ada, { source, id: 'x', about: undefined });
  claims.remove(eve, source, 'x');
  assert.equal(claims.ownerOf(source, 'x'), ada);
  assert.deepEqual(claims.of(eve), []);
  claims.removeAll(ada);
  assert.equal(claims.size, 0);
});

test('claims at a source are removed with it, and no others', () => {
  const claims = createOwnership<undefined>(3);
  const [ada, eve, source, other] = [openSession(), openSession(), {}, {}];
  claims.add(ada, { source, id: 'x', about: undefined });
  claims.add(ada, { source: other, id: 'x', about: undefined });
  claims.add(eve, { source, id: 'y', about: undefined });
  claims.sourceGone(source);
  assert.deepEqual(
    [claims.ownerOf(source, 'x'), claims.ownerOf(source, 'y')],
    [undefined, undefined],
  );
  assert.deepEqual([claims.of(ada).length, claims.of(eve).length], [1, 0]);
  assert.equal(claims.ownerOf(other, 'x'), ada);
});

const method = 'notifications/elicitation/complete';
const page = (elicitationId: string) => ({
  mode: 'url',
  message: 'Sign in',
  url: 'https://example.com/',
  elicitationId,
});

describe.for(['one', 'all'])(
  'the completion of a URL elicitation, at the endpoint of %s,',
  kind => {
    const prefix = kind === 'all' ? 'asker_' : '';

    async function open(hub: TestHub) {
      const client = openAsked(hub, kind === 'all' ? 'all' : hub.server('asker'), () => ({
        action: 'accept',
      }));
      await client.initialize({ elicitation: { url: {} } });
      return {
        ...client,
        call: (name: string, given: object = {}) => client.call(prefix + name, given),
        completed: () => client.told.filter(told => told['method'] === method),
      };
    }

    /**
     * Makes the server send `elicitation/complete`. Resolves when the client has received what the hub forwards of it.
     */
    async function complete(client: Awaited<ReturnType<typeof open>>, elicitationId: string) {
      await client.call('complete', { elicitationId });
      // The answer to a later call on the same channel shows that the earlier message has arrived.
      await client.call('pid');
    }

    test('is sent to the client that was sent to the URL, once, and to no other', async () => {
      await using hub = await startHub([{ name: 'asker' }]);
      const [ada, eve] = [await open(hub), await open(hub)];
      await ada.call('ask', { method: 'elicitation/create', params: page('of ada') });
      assert.equal(ada.asked.length, 1);
      await complete(eve, 'of ada');
      await complete(eve, 'of ada');
      await complete(eve, 'of nobody');
      assert.deepEqual(ada.completed(), [
        { jsonrpc: '2.0', method, params: { elicitationId: 'of ada' } },
      ]);
      assert.deepEqual(eve.completed(), []);
    });

    test('is sent to the client whose call was refused with the URL', async () => {
      await using hub = await startHub([{ name: 'asker' }]);
      const [ada, eve] = [await open(hub), await open(hub)];
      const elicitations = [page('one'), page('two')];
      const refused = await ada.call('needs-pages', { elicitations });
      assert.match(JSON.stringify(refused), /-32042.*"one".*"two"/, 'the error is untouched');
      for (const id of ['one', 'two']) await complete(eve, id);
      assert.equal(ada.completed().length, 2);
      assert.deepEqual(eve.completed(), []);
    });

    test('is sent to no client if two were sent to a URL of that id', async () => {
      await using hub = await startHub([{ name: 'asker' }]);
      const [ada, eve, other] = [await open(hub), await open(hub), await open(hub)];
      const elicitations = [page('same')];
      for (const client of [ada, eve]) await client.call('needs-pages', { elicitations });
      await complete(other, 'same');
      assert.deepEqual(
        [ada, eve, other].map(client => client.completed().length),
        [0, 0, 0],
      );
      eve.session.close('gone');
      await complete(other, 'same');
      assert.deepEqual(
        [ada, other].map(client => client.completed().length),
        [1, 0],
      );
    });

    test('is sent to no client after the server was restarted', async () => {
      await using hub = await startHub([{ name: 'asker' }]);
      const ada = await open(hub);
      await ada.call('needs-pages', { elicitations: [page('old')] });
      await ada.call('crash');
      await until(() => hub.server('asker').running !== undefined);
      await complete(ada, 'old');
      assert.deepEqual(ada.completed(), []);
    });
  },
);
