import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
import { openAsked } from '../asking.ts';

const method = 'notifications/elicitation/complete';
const page = (elicitationId: string) => ({
  mode: 'url',
  message: 'Sign in',
  url: 'https://example.com/',
  elicitationId,
});

describe.for(['one', 'all'])('that a page is done with, at the endpoint of %s,', kind => {
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

  /** The server says that the page is done with; it has reached whom it is for when this resolves. */
  async function complete(client: Awaited<ReturnType<typeof open>>, elicitationId: string) {
    await client.call('complete', { elicitationId });
    // What comes after it on the same way is there.
    await client.call('pid');
  }

  test('is told the client that was asked to go there, once, and nobody else', async () => {
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

  test('is told the client whose call was refused for want of it', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const [ada, eve] = [await open(hub), await open(hub)];
    const elicitations = [page('one'), page('two')];
    const refused = await ada.call('needs-pages', { elicitations });
    assert.match(JSON.stringify(refused), /-32042.*"one".*"two"/, 'the error is untouched');
    for (const id of ['one', 'two']) await complete(eve, id);
    assert.equal(ada.completed().length, 2);
    assert.deepEqual(eve.completed(), []);
  });

  test('is told nobody where two were sent to a page of that id', async () => {
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

  test('is told nobody any more when the server was started anew', async () => {
    await using hub = await startHub([{ name: 'asker' }]);
    const ada = await open(hub);
    await ada.call('needs-pages', { elicitations: [page('old')] });
    await ada.call('crash');
    await until(() => hub.server('asker').running !== undefined);
    await complete(ada, 'old');
    assert.deepEqual(ada.completed(), []);
  });
});
