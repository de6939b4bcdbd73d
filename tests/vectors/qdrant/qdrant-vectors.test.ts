import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, test, vi } from 'vitest';
import { silent } from '#core';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { type QdrantOptions, type Vectors, createQdrantVectors } from '#vectors';
import { until } from '../../contracts/recorder.ts';
import { type QdrantDouble, type QdrantFault, startQdrant } from '../../doubles/qdrant.ts';
import { at, isFailure, namesIn, pointOf, roomy } from '../contract.ts';

const all = { scope: 'one', limit: 10, minScore: -2 } as const;

type Scene = {
  readonly qdrant: QdrantDouble;
  readonly clock: ManualClock;
  /** Opens the vectors of another hub on the same Qdrant. */
  readonly hub: (options?: Partial<QdrantOptions>) => Promise<Vectors>;
};

const opened: AsyncDisposableStack[] = [];
afterEach(async () => {
  for (const scene of opened.splice(0)) await scene.disposeAsync();
});

async function openScene(options: { readonly apiKey?: string } = {}): Promise<Scene> {
  const stack = new AsyncDisposableStack();
  opened.push(stack);
  const qdrant = stack.use(await startQdrant(options));
  const clock = createManualClock();
  return {
    qdrant,
    clock,
    async hub(more = {}) {
      const vectors = createQdrantVectors(
        { url: qdrant.url, ...options, ...more },
        { clock, log: silent },
      );
      await vectors.start(new AbortController().signal);
      stack.defer(() => vectors.stop());
      return vectors;
    },
  };
}

/** Faults, with the kind of failure and the message that they cause. */
const told: readonly (readonly [QdrantFault, Parameters<typeof isFailure>[0], RegExp])[] = [
  ['fails', 'refused', /127\.0\.0\.1:\d+: 500: Service internal error/],
  ['is_busy', 'full', /429/],
  ['resets', 'unreachable', /127\.0\.0\.1:\d+: fetch failed/],
  ['is_a_page', 'malformed', /not as Qdrant does.*QDRANT_URL/],
  ['is_another_api', 'malformed', /not as Qdrant does.*QDRANT_URL/],
  ['is_behind_a_page', 'unreachable', /502/],
];

describe('a Qdrant that', () => {
  test.each(told)(
    '%s is a %s failure, and used again once it recovers',
    async (fault, kind, words) => {
      const { qdrant, hub } = await openScene();
      const vectors = await hub();
      await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
      qdrant.fault = fault;
      await assert.rejects(vectors.near('docs', at(0), all), isFailure(kind, words));
      await assert.rejects(vectors.put('docs', pointOf(at(1)), roomy), isFailure(kind, words));
      await assert.rejects(vectors.removeTag(), isFailure(kind, words));
      const { status, entries, error } = await vectors.stats();
      assert.deepEqual({ status, entries }, { status: 'down', entries: undefined });
      assert.equal(error?.match(/fetch failed|Service internal error/g)?.length ?? 1, 1);
      assert.match(error ?? '', words);
      qdrant.fault = undefined;
      assert.deepEqual(await namesIn(vectors), ['kept']);
    },
  );

  test('is down is unreachable, and used again when it is back', async () => {
    const { qdrant, hub } = await openScene();
    const vectors = await hub();
    await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
    await qdrant.goAway();
    // The first request may still use a connection that was just closed; the next request cannot.
    for (const why of [/ECONNREFUSED|other side closed|ECONNRESET/, /ECONNREFUSED/])
      await assert.rejects(vectors.near('docs', at(0), all), isFailure('unreachable', why));
    await qdrant.comeBack();
    assert.deepEqual(await namesIn(vectors), ['kept']);
  });

  test('has a full disk answers look-ups, and is down until a put succeeds', async () => {
    const { qdrant, hub } = await openScene();
    const vectors = await hub();
    await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
    qdrant.fault = 'is_full';
    const put = () => vectors.put('docs', pointOf(at(1), { name: 'later' }), roomy);
    await assert.rejects(put, isFailure('full', /500: Service internal error: No space left/));
    assert.deepEqual(await namesIn(vectors), ['kept']);
    const { status, entries, error } = await vectors.stats();
    assert.deepEqual({ status, entries }, { status: 'down', entries: 1 });
    assert.match(error ?? '', /No space left/);
    qdrant.fault = undefined;
    await put();
    assert.equal((await vectors.stats()).status, 'up');
  });

  test.each(['hangs', 'hangs_midway'] as const)(
    '%s times out, its connection is closed, and it is not used for two seconds',
    async fault => {
      const { qdrant, clock, hub } = await openScene();
      const vectors = await hub();
      await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
      qdrant.fault = fault;
      const near = vectors.near('docs', at(0), all);
      await until(() => qdrant.hanging === 1, 'the call to hang');
      clock.advance(999);
      assert.equal(qdrant.hanging, 1);
      clock.advance(1);
      await assert.rejects(near, isFailure('timeout', /within 1000 ms/));
      await until(() => qdrant.hanging === 0, 'the connection to be closed');
      const calls = qdrant.calls.length;
      qdrant.fault = undefined;
      clock.advance(1_999);
      await assert.rejects(
        vectors.near('docs', at(0), all),
        isFailure('timeout', /not called for 2 s/),
      );
      assert.equal(qdrant.calls.length, calls);
      clock.advance(1);
      assert.deepEqual(await namesIn(vectors), ['kept']);
    },
  );

  test('counts too slowly is still used for look-ups', async () => {
    const { qdrant, clock, hub } = await openScene();
    const vectors = await hub();
    await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
    qdrant.fault = 'hangs';
    const stats = vectors.stats();
    await until(() => qdrant.hanging === 1, 'the call to hang');
    clock.advance(1_000);
    assert.equal((await stats).status, 'down');
    qdrant.fault = undefined;
    assert.deepEqual(await namesIn(vectors), ['kept']);
  });

  test('hangs times out for a put, with all of its steps, after five seconds', async () => {
    const { qdrant, clock, hub } = await openScene();
    const vectors = await hub();
    qdrant.fault = 'hangs';
    const put = vectors.put('docs', pointOf(at(0)), roomy);
    await until(() => qdrant.hanging === 1, 'the call to hang');
    clock.advance(5_000);
    await assert.rejects(put, isFailure('timeout', /within 5000 ms/));
  });

  test('hangs is abandoned if the caller aborts, and if the hub stops', async () => {
    const { qdrant, clock, hub } = await openScene();
    const vectors = await hub();
    qdrant.fault = 'hangs';
    const caller = new AbortController();
    const near = vectors.near('docs', at(0), all, caller.signal);
    await until(() => qdrant.hanging === 1, 'the call to hang');
    caller.abort();
    await assert.rejects(near, isFailure('cancelled'));
    await until(() => qdrant.hanging === 0, 'the connection to be closed');
    const put = vectors.put('docs', pointOf(at(0)), roomy);
    await until(() => qdrant.hanging === 1, 'the next call to hang');
    await vectors.stop();
    await assert.rejects(put, isFailure('stopped'));
    await until(() => qdrant.hanging === 0, 'the next connection to be closed');
    assert.equal(clock.waiting, 0);
  });

  test('requires a key refuses calls without it, with the setting to change', async () => {
    const { hub } = await openScene({ apiKey: 'right' });
    const wrong = await hub({ apiKey: 'wrong' });
    await assert.rejects(
      wrong.near('docs', at(0), all),
      isFailure('refused', /401: .*Set QDRANT_API_KEY/),
    );
    const right = await hub();
    await right.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
    assert.deepEqual(await namesIn(right), ['kept']);
  });
});

test.each([
  ['SSH', Buffer.from('SSH-2.0-OpenSSH\r\n')],
  // SETTINGS and WINDOW_UPDATE frames of HTTP/2, as Qdrant 1.19.0 sends them.
  [
    'the port for gRPC',
    Buffer.from('000012040000000000000400100000000500004000000600004000', 'hex'),
  ],
])(
  'an address where %s answers is reported with the port to set, and without the key',
  async (_name, bytes) => {
    const server = createServer(socket => void socket.end(bytes)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const { hub } = await openScene();
    const vectors = await hub({ url: `http://127.0.0.1:${port}`, apiKey: 'of-nobody-else' });
    await assert.rejects(vectors.near('docs', at(0), all), (error: unknown) => {
      assert.doesNotMatch(String(error), /of-nobody-else/);
      return isFailure('malformed', /Set QDRANT_URL .* 6333/)(error);
    });
    server.close();
  },
);

test('the client prints nothing, even with a key over http', async () => {
  const printed = (['log', 'info', 'warn', 'error'] as const).map(name => vi.spyOn(console, name));
  const { qdrant, hub } = await openScene({ apiKey: 'right' });
  await (await hub()).put('docs', pointOf(at(0)), roomy);
  await qdrant.goAway();
  await (await hub({ url: qdrant.url })).stats();
  for (const spy of printed) assert.equal(spy.mock.calls.length, 0);
  vi.restoreAllMocks();
});

test('two hubs that start at the same time create one collection, and share its points', async () => {
  const { qdrant, hub } = await openScene();
  const [one, other] = [await hub(), await hub()];
  await Promise.all([
    one.put('docs', pointOf(at(0), { name: 'of one' }), roomy),
    other.put('docs', pointOf(at(10), { name: 'of the other' }), roomy),
  ]);
  for (const vectors of [one, other])
    assert.deepEqual(await namesIn(vectors), ['of one', 'of the other']);
  assert.equal(await one.removeTag('client'), 2);
  assert.deepEqual(await namesIn(other), []);
  assert.deepEqual(qdrant.problems, []);
});

test('a collection that another hub is just creating is waited for', async () => {
  const { clock, hub } = await openScene();
  const [one, other] = [await hub(), await hub()];
  const send = fetch;
  let hasConflict = false;
  let unready = 0;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const isOfCollection = url.endsWith('/collections/agenthub-docs');
    if (isOfCollection && init.method === 'PUT' && !hasConflict) {
      hasConflict = true;
      await other.put('docs', pointOf(at(10), { name: 'of the other' }), roomy);
      unready = 3;
    }
    // As Qdrant 1.16 answers until the shards of a new collection exist.
    const status = { error: 'Service internal error: 0 of 0 read operations failed' };
    if (isOfCollection && init.method === 'GET' && unready > 0) {
      unready--;
      return Response.json({ status, time: 0 }, { status: 500 });
    }
    return await send(url, init);
  });
  const put = one.put('docs', pointOf(at(0), { name: 'of one' }), roomy);
  let isOver = false;
  const over = put.finally(() => (isOver = true));
  await until(() => {
    clock.advance(10);
    return isOver;
  }, 'the collection');
  vi.unstubAllGlobals();
  await over;
  assert.deepEqual(await namesIn(one), ['of one', 'of the other']);
  assert.deepEqual([hasConflict, unready], [true, 0]);
});

test('two hubs that put at the same time keep the maximum of a scope exactly', async () => {
  const { clock, hub } = await openScene();
  const hubs = [await hub(), await hub()];
  const ten = { scope: 'one', maxPerScope: 10 };
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      hubs.flatMap(vectors =>
        Array.from({ length: 10 }, () => vectors.put('docs', pointOf(at(3)), ten)),
      ),
    );
    clock.advance(50);
    assert.equal((await namesIn(hubs[0] ?? (await hub()))).length, 10);
  }
});

test('more points than fit into one call are removed from a scope whose maximum was reduced', async () => {
  const { hub } = await openScene();
  const vectors = await hub();
  const many = { scope: 'one', maxPerScope: 1_000 };
  await Promise.all(Array.from({ length: 270 }, () => vectors.put('docs', pointOf(at(3)), many)));
  await vectors.put('docs', pointOf(at(3)), { scope: 'one', maxPerScope: 5 });
  assert.equal((await namesIn(vectors)).length, 5);
});

test('a point is stored although another hub drops the collection just before', async () => {
  const { hub } = await openScene();
  const vectors = await hub();
  const send = fetch;
  let drops = 1;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const isPut = init.method === 'PUT' && /\/points\?/.test(url);
    if (isPut && drops-- > 0) await send(url.replace(/\/points.*/, ''), { method: 'DELETE' });
    return await send(url, init);
  });
  await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
  vi.unstubAllGlobals();
  assert.deepEqual(await namesIn(vectors), ['kept']);
  assert.ok(drops < 1);
});

test('responses are uncompressed, and as described', async () => {
  const { qdrant, hub } = await openScene();
  const vectors = await hub();
  await vectors.put('docs', pointOf(at(0)), roomy);
  await namesIn(vectors);
  assert.equal(qdrant.compressed, 0);
  assert.deepEqual(qdrant.problems, []);
});

test('a look-up is one call, once the collection is known', async () => {
  const { qdrant, hub } = await openScene();
  const vectors = await hub();
  await vectors.put('docs', pointOf(at(0)), roomy);
  const before = qdrant.calls.length;
  await namesIn(vectors);
  assert.deepEqual(qdrant.calls.slice(before), ['POST /collections/agenthub-docs/points/query']);
});

test('the statistics contain the version', async () => {
  const { hub } = await openScene();
  const { status, detail } = await (await hub()).stats();
  assert.deepEqual([status, detail], ['up', 'Qdrant 1.19.0']);
});

test('expired points are removed from all collections every ten minutes', async () => {
  const { qdrant, clock, hub } = await openScene();
  const vectors = await hub();
  const countAll = async () => {
    const body = JSON.stringify({ exact: true });
    const headers = { 'content-type': 'application/json' };
    const url = `${qdrant.url}/collections/agenthub-docs/points/count`;
    return await (await fetch(url, { method: 'POST', headers, body })).text();
  };
  await vectors.put('docs', pointOf(at(0)), roomy);
  await vectors.put('docs', pointOf(at(0), { expires_at: clock.now() + 1_000 }), roomy);
  clock.advance(599_999);
  await vectors.put('notes', pointOf(at(0)), roomy);
  assert.match(await countAll(), /"count":2/);
  clock.advance(1);
  await vectors.put('notes', pointOf(at(0)), roomy);
  assert.match(await countAll(), /"count":1/);
});

test.each([
  ['with a path', (url: string) => `${url}/qdrant/`, /^GET \/qdrant\/collections\//],
  ['without one', (url: string) => `${url}/`, /^GET \/collections\//],
])('an address %s is used unchanged', async (_name, addressOf, expected) => {
  const { qdrant, hub } = await openScene();
  const vectors = await hub({ url: addressOf(qdrant.url) });
  await vectors.near('docs', at(0), all).catch(() => {});
  assert.match(qdrant.calls.at(-1) ?? '', expected);
});

test.each([
  ['http://localhost', 'localhost:6333'],
  ['http://localhost:80', 'localhost'],
  ['https://qdrant.example:443/', 'qdrant.example'],
  ['https://qdrant.example', 'qdrant.example:6333'],
  ['http://[::1]', '[::1]:6333'],
])('for %s the requests go to %s', async (url, expected) => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (target: string) => {
    asked.push(new URL(target).host);
    throw new TypeError('fetch failed');
  });
  const { hub } = await openScene();
  const vectors = await hub({ url });
  await assert.rejects(vectors.near('docs', at(0), all), isFailure('unreachable'));
  vi.unstubAllGlobals();
  assert.deepEqual(asked, [expected]);
});
