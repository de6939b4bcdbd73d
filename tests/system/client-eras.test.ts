import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type EraClient, connectEra, refusal } from '#helpers/eras';
import { startHub } from '#helpers/hub';

const uri = 'test://counter';

describe('resources of a modern server with "instance": "session"', () => {
  test.for(['/mcp/fixture', '/mcp'])(
    'a client of 2025 at %s hears of those of its own instance until it unsubscribes',
    async path => {
      await using hub = await startHub([
        { name: 'fixture', file: '../eras/server-2026.mjs', instance: 'session' },
      ]);
      const own = (tool: string) => (path === '/mcp' ? `fixture_${tool}` : tool);
      await using hearing = await connectEra('2025', `${hub.url}${path}`);
      await using other = await connectEra('2025', `${hub.url}${path}`);
      const subscription = await hearing.subscribe(uri);
      await other.call(own('bump'));
      assert.equal(await hearing.call(own('bump')), '1', 'the counter of its own instance');
      await hearing.hears('notifications/resources/updated');
      await subscription.stop();
      await hearing.call(own('bump'));
      await hearing.call(own('bump'));
      const updates = hearing.heard.filter(({ method }) => method.endsWith('/updated'));
      assert.equal(updates.length, 1);
    },
  );
});

/** The names of tools that a server has been given while it ran. */
const added = (names: readonly string[]) =>
  names.filter(name => /(added|grown_\w+)_\d+$/.test(name));

/** Resolves when a client is listed a tool. That its base has come up may be told of before. */
async function lists(client: EraClient, tool: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) if ((await client.toolNames()).includes(tool)) return;
  assert.fail(`${tool} is not listed`);
}

const views = [
  ['/mcp/fixture', ''],
  ['/mcp', 'fixture_'],
] as const;

describe.for(['shared', 'session'] as const)(
  'a server of 2025 with "instance": "%s" whose one client of 2026 makes calls in parallel',
  instance => {
    const server = { name: 'fixture', file: '../eras/server-2025.mjs', instance } as const;

    test.for(views)('asks it at %s about each of them', async ([path, prefix]) => {
      await using hub = await startHub([server]);
      await using client = await connectEra('2026', `${hub.url}${path}`);
      const questions = ['who?', 'why?', 'when?', 'where?', 'how?'];
      const answers = await Promise.all(
        questions.map(question => client.call(`${prefix}ask_model`, { question })),
      );
      assert.deepEqual(
        answers,
        questions.map(question => `the model said: echo of ${question}`),
      );
      const twice = [1, 2, 3].map(() => client.call(`${prefix}ask_twice`));
      for (const answer of await Promise.all(twice)) assert.match(answer, /then echo of greet Ada/);
      assert.equal(
        hub.servers.instances.count(hub.server('fixture')),
        instance === 'session' ? 1 : 0,
        'one client has one instance',
      );
    });

    test('asks it about one while another that asks nothing is in flight', async () => {
      await using hub = await startHub([server]);
      await using client = await connectEra('2026', `${hub.url}/mcp/fixture`);
      const begun = Promise.withResolvers<void>();
      const counted = client.call(
        'count',
        { to: 1, hold: true },
        { onProgress: () => begun.resolve() },
      );
      await begun.promise;
      assert.equal(await client.call('ask_person'), 'the person: accept {"name":"Ada"}');
      await client.call('release');
      assert.equal(await counted, 'counted to 1');
    });
  },
);

test('clients of 2026 that call themselves otherwise are several clients', async () => {
  await using hub = await startHub([{ name: 'fixture', file: '../eras/server-2025.mjs' }]);
  const url = `${hub.url}/mcp/fixture`;
  const over = Promise.withResolvers<string>();
  const asked = Promise.withResolvers<void>();
  const sampling = () => {
    asked.resolve();
    return over.promise;
  };
  await using ada = await connectEra('2026', url, { sampling }, 'ada');
  await using alan = await connectEra('2026', url, {}, 'alan');
  const first = ada.call('ask_model', { question: 'why?' });
  await asked.promise;
  const { message } = await refusal(alan.call('ask_model', { question: 'why?' }));
  assert.match(message, /several clients.*"instance": "session"/);
  over.resolve('because');
  assert.equal(await first, 'the model said: because');
});

describe('an instance of a client of 2026', () => {
  test.for(['server-2025.mjs', 'server-both.mjs', 'server-2026.mjs'])(
    'of %s is that of its name, and its client finds and calls what it adds',
    async file => {
      await using hub = await startHub([
        { name: 'fixture', file: `../eras/${file}`, instance: 'session' },
      ]);
      const add = file === 'server-both.mjs' ? 'grow' : 'change_tools';
      const at = (path: string, name: string) => connectEra('2026', `${hub.url}${path}`, {}, name);
      await using ada = await at('/mcp', 'ada');
      await using again = await at('/mcp/fixture', 'ada');
      await using alan = await at('/mcp', 'alan');
      const listening = await ada.subscribe();
      const tool = await ada.call(`fixture_${add}`);
      await ada.hears('notifications/tools/list_changed');
      await lists(ada, `fixture_${tool}`);
      assert.equal(await ada.call(`fixture_${tool}`), `${tool} answers`);
      assert.ok((await again.toolNames()).includes(tool), 'two connections of one client share it');
      assert.equal(await again.call(tool), `${tool} answers`);
      assert.deepEqual(added(await alan.toolNames()), []);
      const { message } = await refusal(alan.call(`fixture_${tool}`));
      assert.match(message, /no tool is called/);
      const own = await alan.call(`fixture_${add}`);
      assert.equal(own, tool, 'each instance counts by itself');
      await listening.stop();
      assert.equal(hub.servers.instances.count(hub.server('fixture')), 2);
    },
  );
});
