import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { cells, toldOfCancelling } from '#fixtures/eras/cells';
import { type Era, type EraClient, connectEra, eras, refusal } from '#helpers/eras';
import { type Fixture, type TestHub, startHub, until } from '#helpers/hub';
import { isLong } from '#helpers/length';

/** Servers under test. Each has a hub of its own, together with an unrelated server. */
const servers = {
  '2025': { file: '../eras/server-2025.mjs' },
  '2025 with an instance for each session': {
    file: '../eras/server-2025.mjs',
    instance: 'session',
  },
  '2026': { file: '../eras/server-2026.mjs' },
  'both eras, spoken to as of 2025': {
    file: '../eras/server-2026.mjs',
    env: { LEGACY: 'serve' },
    era: 'legacy',
  },
} as const satisfies Record<string, Partial<Fixture>>;

type Kind = keyof typeof servers;

const kinds: readonly Kind[] = [
  '2025',
  '2025 with an instance for each session',
  '2026',
  'both eras, spoken to as of 2025',
];

/**
 * These servers are tested at both endpoints with clients of both eras. The others, which the hub speaks to in the same
 * way, are tested at one endpoint for each era of clients: an endpoint only changes names.
 */
const everyView: readonly Kind[] = ['2025', '2026'];

/** Endpoints of the server: its own, with original names, and that of all servers, with prefixed names. */
const views = [
  { path: '/mcp/fixture', of: (own: string) => own },
  { path: '/mcp', of: (own: string) => `fixture_${own}` },
] as const;

const hubOf = (kind: Kind) => startHub([{ name: 'fixture', ...servers[kind] }, { name: 'echo' }]);

describe.for(kinds)('behind the hub, a server of %s', kind => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await hubOf(kind);
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });

  const isVariant = !everyView.includes(kind);
  const rows = eras.flatMap((era, eraAt) =>
    views.flatMap((view, viewAt) =>
      cells
        .filter((_, cellAt) => !isVariant || isLong || (eraAt + viewAt + cellAt) % 2 === 0)
        .map(cell => [era, view.path, cell.name, { view, cell }] as const),
    ),
  );

  test.for(rows)('a client of %s at %s: %s', async ([era, , , { view, cell }]) => {
    await using client = await connectEra(era, `${hub.url}${view.path}`, cell.handlers);
    await cell.run(client, view.of);
    await until(
      () => hub.router.inFlight === 0,
      () => `${hub.router.inFlight} in flight`,
    );
  });

  test.for(eras)(
    'a client of %s gets updates of a resource after the server has restarted',
    async era => {
      await using client = await connectEra(era, `${hub.url}/mcp/fixture`);
      const subscription = await client.subscribe('test://counter');
      await client.call('bump');
      await client.hears('notifications/resources/updated');
      const before = client.heard.length;
      await restart(hub);
      await client.call('bump');
      await until(
        () => client.heard.slice(before).some(({ method }) => method.endsWith('/updated')),
        () => JSON.stringify(client.heard.slice(before)),
      );
      await subscription.stop();
    },
  );

  test.for(eras)(
    'a client of %s with an open request gets an error when the server exits',
    async era => {
      const asked = Promise.withResolvers<void>();
      const over = Promise.withResolvers<string>();
      await using client = await connectEra(era, `${hub.url}/mcp/fixture`, {
        sampling: () => {
          asked.resolve();
          return over.promise;
        },
      });
      const refused = refusal(client.call('ask_model', { question: 'why?' }));
      await asked.promise;
      await restart(hub);
      over.resolve('too late');
      const { message } = await refused;
      assert.match(message, /fixture|requestState/);
      await until(() => hub.router.inFlight === 0);
      assert.equal(await client.call('count', { to: 1 }), 'counted to 1');
    },
  );
});

/** Restarts the server. Resolves when it runs again. */
async function restart(hub: TestHub): Promise<void> {
  const response = await fetch(`${hub.url}/servers/fixture/restart`, {
    method: 'POST',
    headers: hub.ownerHeaders,
  });
  assert.equal(response.status, 200, await response.text());
}

/** Starts a hub with one server of each era. */
const startBoth = () =>
  startHub([
    { name: 's2025', file: '../eras/server-2025.mjs' },
    { name: 's2026', file: '../eras/server-2026.mjs' },
  ]);

describe('several concurrent clients at one shared server of 2026', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await hubOf('2026');
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });

  test('each get their own requests, in any revision', async () => {
    const names = Array.from({ length: 10 }, (_, number) => `client-${number}`);
    const clients = await Promise.all(
      names.map(name =>
        connectEra(Number(name.at(-1)) % 2 === 0 ? '2025' : '2026', `${hub.url}/mcp/fixture`, {
          sampling: prompt => `${name} was asked ${prompt}`,
          elicitation: () => ({ action: 'accept', content: { name } }),
        }),
      ),
    );
    const answers = await Promise.all(clients.map(client => client.call('ask_twice')));
    assert.deepEqual(
      answers,
      names.map(name => `first accept {"name":"${name}"}, then ${name} was asked greet ${name}`),
    );
    for (const client of clients) await client[Symbol.asyncDispose]();
  });
});

describe('features that only one revision has', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startBoth();
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
  });
  const at = (era: Era, server: Era, handlers = {}) =>
    connectEra(era, `${hub.url}/mcp/s${server}`, handlers);

  test('servers are used in the newest revision that they support', () => {
    assert.equal(hub.server('s2025').running?.serverInfo.era, 'legacy');
    assert.equal(hub.server('s2026').running?.serverInfo.era, 'modern');
  });

  test('ping: the hub answers it for servers of 2026, which have none', async () => {
    await using client = await at('2025', '2026');
    await client.ping();
  });

  test('ping: the hub answers that of a server of 2025, whatever revision its clients use', async () => {
    for (const era of eras) {
      await using client = await at(era, '2025');
      assert.equal(await client.call('ping_client'), 'the client answers');
    }
  });

  test('ping: clients of 2026 have none', async () => {
    await using client = await at('2026', '2025');
    assert.match((await refusal(client.ping())).message, /ping/);
  });

  test('roots/list_changed: servers of 2026 are not notified, and request the roots with each call', async () => {
    await using client = await at('2025', '2026');
    await client.rootsChanged();
    assert.equal(await client.call('where'), 'roots: file:///home/ada');
    assert.equal(await client.call('heard'), '[]');
  });

  test('roots/list_changed: clients of 2026 have no such notification', async () => {
    await using client = await at('2026', '2025');
    assert.match((await refusal(client.rootsChanged())).message, /list_changed|not.*support/);
  });

  test('elicitation/complete reaches clients of 2025, and not those of 2026, which have none', async () => {
    await using old = await at('2025', '2025');
    assert.equal(await old.call('ask_person_by_url'), 'the page: accept');
    const { params } = await old.hears('notifications/elicitation/complete');
    assert.match(String(params['elicitationId']), /^page-\d+$/);
    await using client = await at('2026', '2025');
    assert.equal(await client.call('ask_person_by_url'), 'the page: accept');
    assert.equal(await client.call('talk'), 'talked');
    assert.deepEqual(client.heard, []);
  });

  test('the error that a URL must be visited first reaches clients of 2025 unchanged', async () => {
    await using client = await at('2025', '2025');
    const { code, data } = await refusal(client.call('needs_page', { key: 'of-2025' }));
    assert.equal(code, -32042);
    assert.match(JSON.stringify(data), /https:\/\/example\.com\/of-2025/);
  });

  test('the error that a URL must be visited first is input_required for clients of 2026', async () => {
    const visited: (string | undefined)[] = [];
    await using client = await at('2026', '2025', {
      elicitation: ({ url }: { readonly url: string | undefined }) => {
        visited.push(url);
        return { action: 'accept' };
      },
    });
    assert.equal(await client.call('needs_page', { key: 'of-2026' }), 'of-2026 was visited');
    assert.deepEqual(visited, ['https://example.com/of-2026']);
  });

  test('progress that arrives in one chunk with the response is sent before it', async () => {
    for (const era of eras)
      for (const server of eras) {
        const steps: number[] = [];
        await using client = await at(era, server);
        await client.call('count', { to: 20 }, { onProgress: done => void steps.push(done) });
        assert.equal(steps.length, 20, `a client of ${era} at a server of ${server}`);
      }
  });

  test('clients of 2026 get log messages only if they request them', async () => {
    for (const server of eras) {
      await using client = await at('2026', server);
      assert.equal(await client.call('talk'), 'talked');
      assert.equal(await client.call('talk'), 'talked');
      assert.deepEqual(client.heard, []);
    }
  });

  test.for(eras)(
    'log messages of a shared server of %s without a request reach no client while several have calls',
    async server => {
      await using waiting = await at('2026', server);
      await waiting.logFrom('debug');
      const label = `while-logging-${server}`;
      await using _ = await inFlight(waiting, label);
      await using talking = await at('2026', server);
      await talking.logFrom('debug');
      assert.equal(await talking.call('talk'), 'talked');
      assert.equal(await talking.call('count', { to: 1 }), 'counted to 1');
      assert.deepEqual([...waiting.heard, ...talking.heard], []);
    },
  );
});

/** Starts a call that stays in flight until it is disposed of. */
async function inFlight(client: EraClient, label: string): Promise<AsyncDisposable> {
  const begun = Promise.withResolvers<void>();
  const aborting = new AbortController();
  const over = refusal(
    client.call('wait', { label }, { signal: aborting.signal, onProgress: () => begun.resolve() }),
  );
  await begun.promise;
  return {
    async [Symbol.asyncDispose]() {
      aborting.abort(new Error('done'));
      await over;
      await toldOfCancelling(client, 'cancelled', label);
    },
  };
}
