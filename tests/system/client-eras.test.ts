import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { eraServer } from '#helpers/era-servers';
import { type EraClient, connectEra, eras, refusal } from '#helpers/eras';
import { type TestHub, configOf, startHub } from '#helpers/hub';

const uri = 'test://counter';
const both = eraServer('server-both.mjs');

const views = [
  ['/mcp/fixture', ''],
  ['/mcp', 'fixture_'],
] as const;

describe('resources of a modern server with "instance": "session"', () => {
  test('a client of 2025 gets updates of its own instance until it unsubscribes', async () => {
    await using hub = await startHub([
      { name: 'fixture', file: '../eras/server-2026.mjs', instance: 'session' },
    ]);
    for (const [path, prefix] of views) {
      await using hearing = await connectEra('2025', `${hub.url}${path}`);
      await using other = await connectEra('2025', `${hub.url}${path}`);
      const subscription = await hearing.subscribe(uri);
      await other.call(`${prefix}bump`);
      assert.equal(await hearing.call(`${prefix}bump`), '1', 'the counter of its own instance');
      await hearing.hears('notifications/resources/updated');
      await subscription.stop();
      await hearing.call(`${prefix}bump`);
      await hearing.call(`${prefix}bump`);
      const updates = hearing.heard.filter(({ method }) => method.endsWith('/updated'));
      assert.equal(updates.length, 1);
    }
  });
});

/** Filters the names of tools that were added to a server while it ran. */
const added = (names: readonly string[]) =>
  names.filter(name => /(added|grown_\w+)_\d+$/.test(name));

/** Resolves when a tool is listed to the client. A notification may come earlier, for the server's start. */
async function lists(client: EraClient, tool: string): Promise<void> {
  for (const end = Date.now() + 15_000; Date.now() < end;)
    if ((await client.toolNames()).includes(tool)) return;
  assert.fail(`${tool} is not listed`);
}

describe.for([
  ['shared', '/mcp/fixture', ''],
  ['session', '/mcp', 'fixture_'],
] as const)(
  'a server of 2025 with "instance": "%s" that one client of 2026 calls at %s in parallel',
  ([instance, path, prefix]) => {
    let hub: TestHub;
    beforeAll(async () => {
      hub = await startHub([{ name: 'fixture', file: '../eras/server-2025.mjs', instance }]);
    });
    afterAll(async () => {
      await hub?.[Symbol.asyncDispose]();
    });

    test('sends it a request in each call', async () => {
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

    test('sends it a request in one call while another without requests is in flight', async () => {
      await using client = await connectEra('2026', `${hub.url}${path}`);
      const begun = Promise.withResolvers<void>();
      const counted = client.call(
        `${prefix}count`,
        { to: 1, hold: true },
        { onProgress: () => begun.resolve() },
      );
      await begun.promise;
      assert.equal(await client.call(`${prefix}ask_person`), 'the person: accept {"name":"Ada"}');
      await client.call(`${prefix}release`);
      assert.equal(await counted, 'counted to 1');
    });
  },
);

test('clients of 2026 with different names are different clients', async () => {
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
  test.for(['server-2025.mjs', 'server-both.mjs'])(
    'of %s belongs to its name, and its client lists and calls what it adds',
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

/** Starts a server of both eras over HTTP. */
async function listening(env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [both, '--http'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  const [line] = await once(createInterface({ input: child.stderr }), 'line');
  return {
    url: String(line),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

const remote = (url: string) => ({ name: 'fixture', url }) as const;

describe('a server of both eras that sends requests to its clients', () => {
  const local = { name: 'fixture', file: '../eras/server-both.mjs' } as const;

  test("sends requests to a client of 2025 from the client's own instance", async () => {
    await using hub = await startHub([{ ...local, instance: 'session' }]);
    for (const [path, prefix] of views) {
      await using client = await connectEra('2025', `${hub.url}${path}`);
      assert.equal(await client.call(`${prefix}ask`, { question: 'Who?' }), 'Who? accept Ada');
      assert.equal(await client.call(`${prefix}sample`, { prompt: 'why?' }), 'echo of why?');
      await lists(client, `${prefix}only_in_2025`);
      await using newer = await connectEra('2026', `${hub.url}${path}`);
      assert.match(await newer.call(`${prefix}who`), /^modern /);
    }
    assert.deepEqual(hub.server('fixture').advice, []);
  });

  test('sends requests to a client of 2025 if it has a url', async () => {
    await using far = await listening();
    await using hub = await startHub([remote(far.url)]);
    for (const [path, prefix] of views) {
      await using one = await connectEra('2025', `${hub.url}${path}`);
      await using two = await connectEra('2025', `${hub.url}${path}`, {
        elicitation: () => ({ action: 'accept', content: { name: 'Alan' } }),
      });
      const question = 'Who?';
      assert.equal(await one.call(`${prefix}ask`, { question }), 'Who? accept Ada');
      assert.equal(await two.call(`${prefix}ask`, { question }), 'Who? accept Alan');
      assert.equal(await one.call(`${prefix}sample`, { prompt: 'why?' }), 'echo of why?');
      await using newer = await connectEra('2026', `${hub.url}${path}`);
      assert.match(await newer.call(`${prefix}who`), /^modern /);
      assert.match(await one.call(`${prefix}who`), /^legacy /);
      const opened: unknown = JSON.parse(await newer.call(`${prefix}opened`));
      assert.ok(Array.isArray(opened));
      assert.equal(opened.filter(era => era === 'legacy').length, 1, 'they share a connection');
    }
  });

  test('lists clients of 2025 what it has for them where it has a url, and tells them of changes', async () => {
    await using far = await listening();
    await using hub = await startHub([remote(far.url)]);
    await using all = await connectEra('2025', `${hub.url}/mcp`);
    await using alone = await connectEra('2025', `${hub.url}/mcp/fixture`);
    await using newer = await connectEra('2026', `${hub.url}/mcp`);
    await lists(all, 'fixture_only_in_2025');
    await lists(alone, 'only_in_2025');
    const tool = await all.call('fixture_grow');
    await Promise.all([all, alone].map(one => one.hears('notifications/tools/list_changed')));
    await lists(all, `fixture_${tool}`);
    await lists(alone, tool);
    assert.equal(await all.call(`fixture_${tool}`), `${tool} answers`);
    assert.deepEqual(
      (await newer.toolNames()).filter(name => /grown|only/.test(name)),
      [],
      'a client of 2026 is spoken to as before',
    );
  });

  test('continues with clients of 2025 after a restart, and at another url', async () => {
    await using far = await listening();
    await using later = await listening();
    await using hub = await startHub([remote(far.url)]);
    await using older = await connectEra('2025', `${hub.url}/mcp/fixture`);
    await using newer = await connectEra('2026', `${hub.url}/mcp/fixture`);
    const { [1]: pid = '' } = /^legacy (\d+)$/.exec(await older.call('who')) ?? [];
    const restart = { method: 'POST', headers: hub.ownerHeaders };
    assert.equal((await fetch(`${hub.url}/servers/fixture/restart`, restart)).status, 200);
    assert.equal(await older.call('who'), `legacy ${pid}`);
    assert.equal(await older.call('ask', { question: 'Who?' }), 'Who? accept Ada');
    assert.equal(await newer.call('who'), `modern ${pid}`);
    const applied = await hub.servers.apply({
      naming: { separator: '_', maxLength: 46 },
      servers: [configOf(remote(later.url))],
    });
    assert.deepEqual(applied.failed, []);
    const [, moved] = /^legacy (\d+)$/.exec(await older.call('who')) ?? [];
    assert.ok(moved !== undefined && moved !== pid, 'the other process answers');
    assert.equal(await older.call('ask', { question: 'Who?' }), 'Who? accept Ada');
    assert.equal(await newer.call('who'), `modern ${moved}`);
  });

  test('is used in 2026 for all clients if it supports nothing else', async () => {
    const env = { ERA: 'modern' };
    await using far = await listening(env);
    await using hub = await startHub([
      remote(far.url),
      { ...local, name: 'own', instance: 'session', env },
    ]);
    for (const name of ['fixture', 'own']) {
      await using client = await connectEra('2025', `${hub.url}/mcp/${name}`);
      assert.match(await client.call('who'), /^modern /);
      assert.match(await client.call('who'), /^modern /);
    }
    assert.equal(hub.servers.instances.count(hub.server('fixture')), 0, 'one connection is enough');
  });

  test('and is shared gets advice about the era in which it works, once it has failed a client', async () => {
    const failed = (era: (typeof eras)[number]) => ({ ...local, name: `failed-${era}` });
    const heeding = { ...local, name: 'heeding', era: 'legacy' } as const;
    await using hub = await startHub([...eras.map(failed), heeding]);
    for (const era of eras) {
      const server = hub.server(`failed-${era}`);
      await using client = await connectEra(era, `${hub.url}/mcp/failed-${era}`);
      assert.equal(await client.call('ping'), 'pong');
      assert.deepEqual(server.advice, []);
      assert.match(await client.call('ask', { question: 'Who?' }), /^error: Server-to-client/);
      const shown = await (await fetch(`${hub.url}/servers/failed-${era}`)).text();
      assert.match(shown, /"advice":\[".*\\"era\\": \\"legacy\\"/);
      await using other = await connectEra(era, `${hub.url}/mcp/heeding`);
      assert.equal(await other.call('ask', { question: 'Who?' }), 'Who? accept Ada');
    }
  });
});
