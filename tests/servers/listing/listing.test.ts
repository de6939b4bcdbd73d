import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent, systemClock } from '#core';
import { createFixtureServers, createRecordingLog, until } from '#helpers/hub';
import { type Answer, readMessage } from '#jsonrpc';
import { readList, readListing } from '../../../hub/servers/listing/listing.ts';

/** Creates an upstream that answers the list requests with these results, in order. */
function answering(results: readonly (object | HubError)[]) {
  const asked: { readonly method: string; readonly params: object | undefined }[] = [];
  return {
    asked,
    async request(method: string, params: object | undefined): Promise<Answer> {
      const result = results[asked.length];
      asked.push({ method, params });
      if (result instanceof HubError) throw result;
      const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result });
      const message = readMessage(Buffer.from(text));
      return message.kind === 'answer' ? message : assert.fail(text);
    },
  };
}

const needs = { clock: systemClock, log: silent };
const readerOf = (asking: ReturnType<typeof answering>) => ({
  server: 's',
  asking,
  timeoutMs: 1_000,
  ...needs,
});
const tool = (name: unknown) => ({ name, inputSchema: { type: 'object' } });

describe('a list', () => {
  test('of 4 MiB on one page is read in many turns of the event loop', async () => {
    const description = 'x'.repeat(4_096);
    const tools = Array.from({ length: 1_000 }, (_, at) => ({ ...tool(`t${at}`), description }));
    let turns = 0;
    let next = setImmediate(function count() {
      turns++;
      next = setImmediate(count);
    });
    const { items } = await readList('tool', readerOf(answering([{ tools }])));
    clearImmediate(next);
    assert.equal(items.length, 1_000);
    assert.ok(turns >= 10, `${turns} turns`);
  });

  test('is read with all its pages, each item unchanged', async () => {
    const upstream = answering([
      { tools: [tool('a')], nextCursor: 'x y' },
      { nextCursor: '2', tools: [] },
      { tools: [tool('b')] },
    ]);
    const { items } = await readList('tool', readerOf(upstream));
    assert.deepEqual(
      items.map(({ key, bytes }) => [key, bytes.toString()]),
      [
        ['a', JSON.stringify(tool('a'))],
        ['b', JSON.stringify(tool('b'))],
      ],
    );
    assert.deepEqual(
      upstream.asked.map(({ params }) => params),
      [{}, { cursor: 'x y' }, { cursor: '2' }],
    );
  });

  test('of another hub omits items that came through this hub, and names the hubs of the rest', async () => {
    const through = (hubs: readonly string[]) => ({ _meta: { 'agenthub/hubs': hubs } });
    const upstream = answering([
      { tools: [tool('own'), { ...tool('third'), ...through(['c']) }, through(['a', 'c'])] },
    ]);
    const { items, nameless } = await readList('tool', {
      ...readerOf(upstream),
      hubId: 'a',
      hubOfServer: 'b',
    });
    assert.deepEqual(
      items.map(({ bytes }) => JSON.parse(bytes.toString())),
      [
        { ...tool('own'), ...through(['b']) },
        { ...tool('third'), ...through(['c', 'b']) },
      ],
    );
    assert.equal(nameless, 0);
  });

  test('with a repeated cursor is cut, with a warning', async () => {
    const { log, logged } = createRecordingLog();
    const upstream = answering(
      Array.from({ length: 10 }, () => ({ tools: [tool('a')], nextCursor: 'same' })),
    );
    const { items } = await readList('tool', { ...readerOf(upstream), log });
    assert.equal(items.length, 2);
    assert.match(logged[0]?.message ?? '', /repeats a cursor/);
  });

  test('of many long pages is cut at 64 MiB, with a warning', async () => {
    const { log, logged } = createRecordingLog();
    const description = 'x'.repeat(20 * 2 ** 20);
    const page = (name: string) => ({ tools: [{ ...tool(name), description }], nextCursor: name });
    const upstream = answering(['a', 'b', 'c', 'd', 'e', 'f'].map(page));
    const { items } = await readList('tool', { ...readerOf(upstream), log });
    assert.equal(items.length, 4);
    assert.match(logged[0]?.message ?? '', /too long/);
  });

  for (const [kind, most] of [
    ['tool', 10_000],
    ['template', 1_000],
  ] as const)
    test(`of one page with more than ${most} ${kind}s is cut there, with a warning`, async () => {
      const { log, logged } = createRecordingLog();
      const many = Array.from({ length: most + 1 }, (_, at) => ({
        name: `${at}`,
        uriTemplate: `${at}`,
      }));
      const upstream = answering([{ tools: many, resourceTemplates: many }]);
      assert.equal((await readList(kind, { ...readerOf(upstream), log })).items.length, most);
      assert.match(logged[0]?.message ?? '', /too long/);
    });

  test('of one page with a million elements that are no items is read up to the maximum', async () => {
    const upstream = answering([{ tools: Array.from({ length: 1_000_000 }, () => 1) }]);
    const { items, nameless } = await readList('tool', readerOf(upstream));
    assert.equal(items.length, 0);
    assert.equal(nameless, 10_001);
  });

  test('has the shortest TTL and the narrowest cache scope of its pages', async () => {
    const clock = { monotonic: () => 1_000 };
    const read = async (...pages: readonly object[]) => {
      const upstream = answering(
        pages.map((page, at) => ({
          tools: [],
          ...page,
          ...(at + 1 < pages.length && { nextCursor: `${at}` }),
        })),
      );
      const reader = { ...readerOf(upstream), clock };
      const { freshUntil, scope } = await readList('tool', reader);
      return [freshUntil, scope];
    };
    const shared = { ttlMs: 60_000, cacheScope: 'public' };
    assert.deepEqual(await read(shared, shared), [61_000, 'public']);
    assert.deepEqual(await read(shared, { ...shared, ttlMs: 5 }), [1_005, 'public']);
    assert.deepEqual(await read({ ...shared, cacheScope: 'private' }, shared), [61_000, 'private']);
    assert.deepEqual(await read(shared, {}), [0, 'private']);
    assert.deepEqual(await read({ ttlMs: -1, cacheScope: 7 }), [0, 'private']);
  });

  test('leaves out what has no name, and refuses what is not a list', async () => {
    const odd = [tool('a'), tool(5), {}, null, 'x', [], tool('b')];
    const { items } = await readList('tool', readerOf(answering([{ tools: odd }])));
    assert.deepEqual(
      items.map(({ key }) => key),
      ['a', 'b'],
    );
    for (const result of [{}, { tools: null }, { tools: {} }, { tools: 'x' }])
      await assert.rejects(readList('tool', readerOf(answering([result]))), {
        code: 'HUB_SERVER_PROTOCOL',
        message: 's answered tools/list without "tools"',
      });
  });
});

describe('the lists of a server', () => {
  test('are requested if its capabilities have them', async () => {
    const upstream = answering([{ prompts: [{ name: 'p' }] }]);
    const lists = await readListing({ prompts: {} }, readerOf(upstream));
    assert.deepEqual(
      upstream.asked.map(({ method }) => method),
      ['prompts/list'],
    );
    assert.equal(lists.prompt.items.length, 1);
    assert.deepEqual(lists.tool.items, []);
    const none = answering([]);
    for (const capabilities of [undefined, null, [], { tools: true }, { tools: null }])
      await readListing(capabilities, readerOf(none));
    assert.deepEqual(none.asked, []);
  });

  test.each([
    [404, 'is empty'],
    [500, 'is empty'],
    [501, 'is empty'],
    [408, 'fails'],
    [429, 'fails'],
    [502, 'fails'],
    [503, 'fails'],
    [504, 'fails'],
  ])('with one that a remote host answers with %i %s', async (status, what) => {
    const error = new HubError('HUB_REMOTE_UNREACHABLE', `answered ${status}`, {
      data: { status },
    });
    const reading = readListing({ tools: {} }, readerOf(answering([error])));
    if (what === 'fails') return await assert.rejects(reading, error);
    assert.deepEqual((await reading).tool.items, []);
  });

  test('that are refused are empty; a timeout is passed on', async () => {
    const refused = new HubError('HUB_SERVER_PROTOCOL', 'no such method');
    const asking = answering([{ resources: [{ uri: 'x://y' }] }, refused]);
    const lists = await readListing({ resources: {} }, readerOf(asking));
    assert.equal(lists.resource.items.length, 1);
    assert.deepEqual(lists.template.items, []);
    const silence = new HubError('HUB_CALL_TIMEOUT', 'nothing came');
    await assert.rejects(readListing({ tools: {} }, readerOf(answering([silence]))), silence);
  });
});

describe('of real servers', () => {
  test('are read: 20 pages, a repeated cursor and a thousand tools', async () => {
    await using servers = createFixtureServers(
      [
        { name: 'paged' },
        { name: 'looping', file: 'paged.mjs', env: { LOOP: '1' } },
        { name: 'many-tools' },
      ],
      needs,
    );
    await Promise.all(servers.all.map(server => server.ready()));
    assert.equal(servers.get('paged').listing.tool.length, 100);
    assert.ok(servers.get('looping').listing.tool.length <= 15);
    assert.equal(servers.get('many-tools').listing.tool.length, 1000);
  });

  test('that change are read again, and once more if they change meanwhile', async () => {
    await using servers = createFixtureServers([{ name: 'echo' }], needs);
    const server = servers.get('echo');
    const { upstream } = await server.ready();
    const heard: string[] = [];
    using _ = server.listed(kind => heard.push(kind));
    await Promise.all(
      Array.from({ length: 10 }, () =>
        upstream.request('tools/call', { name: 'relist', arguments: {} }, 5_000),
      ),
    );
    await until(() => server.listing.tool.some(({ key }) => key === 'extra-10'));
    assert.ok(heard.every(kind => kind === 'tool'));
    assert.ok(heard.length <= 10);
  });
});
