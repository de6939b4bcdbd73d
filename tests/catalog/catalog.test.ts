import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createBacklog, createFolder, createTable } from '#store';
import { maxAnswers } from '#catalog';
import { createCatalog } from '../../hub/catalog/catalog.ts';
import { temporary } from '../config/editing.ts';
import {
  type Registered,
  type RegistryDouble,
  type RegistryFault,
  registryDescription,
  startRegistry,
} from '../doubles/mcp-registry.ts';
import { registered } from './servers.ts';

const signal = new AbortController().signal;
const maxAgeMs = 600_000;
const postgres = 'io.github.someone/postgres-mcp';

/** Creates a catalog over a registry, whose answers it stores in a folder. */
function catalogIn(folder: string, url: string, { enabled = true, most = maxAnswers } = {}) {
  const clock = createManualClock();
  const needs = { log: silent, backlog: createBacklog() };
  const secrets = new Map<string, string>();
  /** Names of the secrets that the config refers to. */
  const used = new Set<string>();
  const catalog = createCatalog({
    config: () => ({ enabled, url, maxAgeMs }),
    clock,
    fetch,
    version: '1.2.3',
    index: createTable({ file: join(folder, 'catalog.json'), maxEntries: most }, needs),
    bodies: createFolder(join(folder, 'catalog'), needs),
    secrets: {
      set: async (name, value) => void secrets.set(name, value),
      uses: () => Array.from(used, secret => ({ secret })),
      isKept: async name => secrets.has(name),
    },
  });
  return { catalog, clock, secrets, used };
}

async function open(servers: readonly Registered[] = registered) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporary());
  const double = stack.use(await startRegistry(servers));
  const kept = stack.move();
  return {
    folder: folder.path,
    double,
    ...catalogIn(folder.path, double.url),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const expectDescribed = ({ problems }: RegistryDouble) => assert.deepEqual(problems, []);

test(`the double answers as the description of the API says${registryDescription ? '' : ' (skipped: no mcp-registry.yaml in OPENAPI_DIR)'}`, async ({
  skip,
}) => {
  if (!registryDescription) return skip();
  await using scene = await open();
  await scene.catalog.search('postgres', undefined, signal);
  for (const { server } of registered) await scene.catalog.get(server.name, server.version, signal);
  await assert.rejects(scene.catalog.get('com.example/none', undefined, signal));
  assert.equal(scene.double.asked.length, registered.length + 2);
  expectDescribed(scene.double);
});

describe('a search', () => {
  test('asks for the newest versions, and shows who publishes what', async () => {
    await using scene = await open();
    const { servers, next, source } = await scene.catalog.search('Postgres', undefined, signal);
    assert.deepEqual(scene.double.asked, ['/v0.1/servers?search=postgres&version=latest&limit=30']);
    assert.equal(next, undefined);
    assert.deepEqual([source.from, source.problem], ['registry', undefined]);
    assert.deepEqual(servers, [
      {
        name: postgres,
        title: 'PostgreSQL',
        description: 'Reads and writes PostgreSQL.',
        version: '2.0.0',
        publisher: 'someone (GitHub)',
        kinds: ['npm', 'oci', 'remote'],
        status: 'active',
        statusMessage: '',
        updatedAt: '2026-03-01T00:00:00.000Z',
        repository: 'https://github.com/someone/postgres-mcp',
        website: 'https://example.com/postgres',
        popularity: { of: 'stars', count: 42 },
      },
    ]);
  });

  test('filters by the words after the first itself, and has further pages', async () => {
    await using scene = await open();
    assert.deepEqual(
      (await scene.catalog.search('postgres nothing', undefined, signal)).servers,
      [],
    );
    const many = Array.from({ length: 70 }, (_, at) => ({
      server: { name: `com.example/server-${at}`, description: 'One of many.', version: '1.0.0' },
    }));
    scene.double.servers = many;
    let cursor: string | undefined;
    const names: string[] = [];
    do {
      const page = await scene.catalog.search('server', cursor, signal);
      names.push(...page.servers.map(({ name }) => name));
      cursor = page.next;
    } while (cursor !== undefined);
    assert.deepEqual(
      names,
      many.map(({ server }) => server.name),
    );
  });

  test('leaves out entries that are not servers, and neutralizes texts', async () => {
    const odd = [
      { server: { name: 'no-slash', version: '1' } },
      { server: { name: 'com.example/<script>', version: '1' } },
      {
        server: {
          name: 'com.example/ok',
          version: '1',
          description: 'x'.repeat(5_000),
          websiteUrl: 'javascript:alert(1)',
        },
      },
    ];
    await using scene = await open([...odd, ...registered.slice(2, 3)]);
    const { servers } = await scene.catalog.search('', undefined, signal);
    assert.deepEqual(
      servers.map(({ name }) => name),
      ['com.example/ok', 'com.example/tickets'],
    );
    const [long, tickets] = servers;
    assert.ok(long && long.description.length <= 300 && long.website === undefined);
    assert.equal(tickets?.description, 'Tickets of a postgres<U+202E> shop.<U+0007>');
    assert.deepEqual([tickets?.status, tickets?.statusMessage], ['deprecated', 'Use tickets-2.']);
  });
});

describe('answers', () => {
  test('are reused while they are fresh, and revalidated by their ETag afterwards', async () => {
    await using scene = await open();
    const ask = async () => (await scene.catalog.search('postgres', undefined, signal)).source;
    assert.equal((await ask()).from, 'registry');
    assert.equal((await ask()).from, 'cache');
    assert.equal(scene.double.asked.length, 1);
    scene.clock.advance(maxAgeMs);
    assert.equal((await ask()).from, 'registry');
    assert.deepEqual([scene.double.asked.length, scene.double.unchanged], [2, 1]);
    assert.equal((await ask()).from, 'cache');
  });

  test('outlive the hub, and have a bounded size on disk', async () => {
    await using scene = await open();
    const most = 3;
    const first = catalogIn(scene.folder, scene.double.url, { most });
    for (const word of ['a', 'b', 'c', 'd', 'e'])
      await first.catalog.search(word, undefined, signal);
    assert.ok((await readdir(join(scene.folder, 'catalog'))).length <= maxAnswers);
    const next = catalogIn(scene.folder, scene.double.url, { most });
    assert.equal((await next.catalog.search('e', undefined, signal)).source.from, 'cache');
    const asked = scene.double.asked.length;
    await next.catalog.search('a', undefined, signal);
    assert.equal(scene.double.asked.length, asked + 1, 'the oldest was dropped');
  });

  test.each<RegistryFault>(['fails', 'resets', 'is_a_page', 'is_huge', 'redirects'])(
    'are shown with their age if the registry %s',
    async fault => {
      await using scene = await open();
      await scene.catalog.search('postgres', undefined, signal);
      await scene.catalog.get(postgres, undefined, signal);
      const { at } = (await scene.catalog.search('postgres', undefined, signal)).source;
      scene.double.fault = fault;
      scene.clock.advance(maxAgeMs);
      const { servers, source } = await scene.catalog.search('postgres', undefined, signal);
      assert.equal(servers.length, 1);
      assert.deepEqual([source.from, source.at], ['cache', at]);
      assert.ok(source.problem);
      const found = await scene.catalog.get(postgres, undefined, signal);
      assert.deepEqual([found.source.from, found.options.length], ['cache', 3]);
      const other = await scene.catalog.search('writes', undefined, signal);
      assert.deepEqual(
        other.servers.map(({ name }) => name),
        [postgres],
        'in what is stored',
      );
      assert.match(other.source.problem ?? '', /did not answer/);
      await assert.rejects(scene.catalog.get('com.example/files', undefined, signal), {
        code: 'HUB_REGISTRY_UNREACHABLE',
      });
    },
  );

  test('of a registry that hangs are abandoned after ten seconds', async () => {
    await using scene = await open();
    scene.double.fault = 'hangs';
    const searching = scene.catalog.search('postgres', undefined, signal);
    searching.catch(() => {}); // Awaited below.
    while (scene.double.asked.length === 0) await new Promise(setImmediate);
    scene.clock.advance(10_000);
    await assert.rejects(searching, { code: 'HUB_REGISTRY_UNREACHABLE' });
  });
});

test('a catalog that is off sends no request', async () => {
  await using scene = await open();
  const { catalog } = catalogIn(scene.folder, scene.double.url, { enabled: false });
  assert.equal(catalog.isOn(), false);
  await assert.rejects(catalog.search('', undefined, signal), /the catalog is off/);
  await assert.rejects(catalog.get(postgres, undefined, signal), /the catalog is off/);
  assert.deepEqual(scene.double.asked, []);
});

describe('the request to install a server', () => {
  const values = { env: { DATABASE_PASSWORD: 'hunter2!' }, variables: { database: 'shop' } };

  test('has references in place of secrets, and the chosen package only', async () => {
    await using scene = await open();
    const { request, stored } = await scene.catalog.requestFor(
      { server: postgres, option: 0, ...values },
      signal,
    );
    assert.deepEqual(stored, ['POSTGRES_DATABASE_PASSWORD']);
    assert.deepEqual([...scene.secrets], [['POSTGRES_DATABASE_PASSWORD', 'hunter2!']]);
    assert.deepEqual(request.env, { DATABASE_PASSWORD: '${secret:POSTGRES_DATABASE_PASSWORD}' });
    assert.equal(request.isForeign, true);
    assert.ok('server' in request.source);
    assert.equal(request.source.server.packages?.length, 1);
    assert.equal(request.source.server.remotes, undefined);
  });

  test('keeps references unchanged, and stores the secrets of parts of a header', async () => {
    await using scene = await open();
    const asked = { server: postgres, option: 2, variables: { tenant: 'me', token: 't0ken' } };
    const { request } = await scene.catalog.requestFor(asked, signal);
    assert.equal(request.variables['token'], '${secret:POSTGRES_TOKEN}');
    const again = await scene.catalog.requestFor(
      { ...asked, variables: { tenant: 'me', token: '${secret:MINE}' } },
      signal,
    );
    assert.deepEqual([again.request.variables['token'], again.stored], ['${secret:MINE}', []]);
  });

  test('does not overwrite the secret of another server, and stores its own under another name', async () => {
    await using scene = await open();
    const asked = { server: postgres, option: 0, ...values };
    const wrong = { ...asked, env: { DATABASE_PASSWORD: 'mistyped' } };
    (await scene.catalog.requestFor(wrong, signal))[Symbol.dispose]();
    (await scene.catalog.requestFor(asked, signal))[Symbol.dispose]();
    scene.used.add('POSTGRES_DATABASE_PASSWORD');
    const { request, stored } = await scene.catalog.requestFor(
      { ...asked, env: { DATABASE_PASSWORD: 'of the second' } },
      signal,
    );
    assert.deepEqual(stored, ['POSTGRES_DATABASE_PASSWORD_2']);
    assert.deepEqual(request.env, { DATABASE_PASSWORD: '${secret:POSTGRES_DATABASE_PASSWORD_2}' });
    assert.deepEqual(
      [...scene.secrets],
      [
        ['POSTGRES_DATABASE_PASSWORD', 'hunter2!'],
        ['POSTGRES_DATABASE_PASSWORD_2', 'of the second'],
      ],
    );
  });

  test('does not overwrite a secret that the user has stored, also if nothing uses it', async () => {
    await using scene = await open();
    const [name, second] = ['POSTGRES_DATABASE_PASSWORD', 'POSTGRES_DATABASE_PASSWORD_2'];
    scene.secrets.set(name, 'of the user');
    const asked = { server: postgres, option: 0, ...values };
    const both = await Promise.all(
      [asked, asked].map(one => scene.catalog.requestFor(one, signal)),
    );
    assert.deepEqual(both.flatMap(({ stored }) => stored).toSorted(), [
      second,
      'POSTGRES_DATABASE_PASSWORD_3',
    ]);
    assert.equal(scene.secrets.get(name), 'of the user');
    for (const request of both) request[Symbol.dispose]();
    using again = await scene.catalog.requestFor(asked, signal);
    assert.deepEqual(again.stored, [second]);
  });

  test('does not overwrite the secret of an install in progress, and stores its own under another name', async () => {
    await using scene = await open();
    const ask = (password: string) => {
      const env = { DATABASE_PASSWORD: password };
      return scene.catalog.requestFor({ server: postgres, option: 0, ...values, env }, signal);
    };
    const both = await Promise.all([ask('one'), ask('two')]);
    const kept = both.map(({ stored: [name = ''] }) => scene.secrets.get(name));
    assert.deepEqual(kept, ['one', 'two']);
    assert.equal(scene.secrets.size, 2);
    for (const request of both) request[Symbol.dispose]();
    using again = await ask('three');
    assert.deepEqual(again.stored, ['POSTGRES_DATABASE_PASSWORD']);
  });

  test('does not overwrite a secret that an install in progress refers to', async () => {
    await using scene = await open();
    const ask = (env: object) =>
      scene.catalog.requestFor({ server: postgres, option: 0, ...values, env }, signal);
    const first = await ask({ DATABASE_PASSWORD: 'of the first' });
    first[Symbol.dispose]();
    // The dashboard sends the request again in this way, with the user's consent.
    const { DATABASE_PASSWORD } = first.request.env;
    const [agreed, twice] = [await ask({ DATABASE_PASSWORD }), await ask({ DATABASE_PASSWORD })];
    twice[Symbol.dispose]();
    using other = await ask({ DATABASE_PASSWORD: 'of the other' });
    assert.deepEqual(other.stored, ['POSTGRES_DATABASE_PASSWORD_2']);
    assert.equal(scene.secrets.get('POSTGRES_DATABASE_PASSWORD'), 'of the first');
    agreed[Symbol.dispose]();
    using last = await ask({ DATABASE_PASSWORD: 'of the last' });
    assert.deepEqual(last.stored, ['POSTGRES_DATABASE_PASSWORD']);
  });

  test.each([
    [{}, /write the name of a server/],
    [{ server: '' }, /write the name of a server/],
    [{ server: postgres, version: 2 }, /version: 2 is not allowed: write a string/],
    [{ server: postgres, option: 7 }, /has 3 options/],
    [{ server: 'com.example/none' }, /has no server/],
    [{ server: postgres, version: '9.9.9' }, /in version "9\.9\.9"/],
    [{ server: postgres, version: '1.0.0' }, /nothing to install/],
  ])('%j is refused', async (body, message) => {
    await using scene = await open();
    await assert.rejects(scene.catalog.requestFor(body, signal), message);
  });
});

const real = process.env['MCP_REGISTRY_URL'];
test(`the registry of MCP_REGISTRY_URL is searched like the double${real === undefined ? ' (skipped: it is not set)' : ''}`, async ({
  skip,
}) => {
  if (real === undefined) return skip();
  await using folder = await temporary();
  const { catalog } = catalogIn(folder.path, real);
  const { servers, source } = await catalog.search('postgres', undefined, signal);
  assert.equal(source.from, 'registry');
  const [first] = servers;
  assert.ok(first);
  assert.ok(first.name.includes('/'));
  assert.notEqual(first.publisher, '');
  const found = await catalog.get(first.name, first.version, signal);
  assert.equal(found.card.name, first.name);
});
