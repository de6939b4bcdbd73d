import assert from 'node:assert/strict';
import { afterAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createQdrantVectors } from '#vectors';
import { startQdrant } from '../../doubles/qdrant.ts';
import { at, isFailure, namesIn, pointOf, roomy } from '../contract.ts';

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

const double = opened.use(await startQdrant());
const given = process.env['QDRANT_URL'];
const places = [['the double', double.url], ...(given === undefined ? [] : [[given, given]])];
let scenes = 0;

/** Creates a deployment in a Qdrant, and functions that act on it as another program. */
function openScene(url: string) {
  const apiKey = process.env['QDRANT_API_KEY'];
  const deployment = `collections-${process.pid}-${Date.now()}-${++scenes}`;
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const hubs: ReturnType<typeof createQdrantVectors>[] = [];

  async function send(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${url}/collections/${deployment}-${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(apiKey && { 'api-key': apiKey }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { result } = Object(await answer.json());
    return result;
  }

  return {
    clock,
    logged,
    send,
    hub(name = deployment) {
      const options = { url, deployment: name, ...(apiKey !== undefined && { apiKey }) };
      const vectors = createQdrantVectors(options, { clock, log });
      hubs.push(vectors);
      return vectors;
    },
    deployment,
    /** Creates a collection as another program does, with one point. */
    async makeForeign(name: string, vectors: object = { size: 2, distance: 'Cosine' }, id = 1) {
      await send('PUT', name, { vectors });
      const point = { id: idOf(id), vector: [1, 1], payload: { text: 'not of the hub' } };
      await send('PUT', `${name}/points?wait=true`, { points: [point] });
    },
    index: (name: string, field_name: string, field_schema: object) =>
      send('PUT', `${name}/index?wait=true`, { field_name, field_schema }),
    async count(name: string): Promise<unknown> {
      const found = await send('POST', `${name}/points/count`, { exact: true });
      return isObject(found) ? found['count'] : 'missing';
    },
    async schema(name: string) {
      const found = await send('GET', name);
      const { config, payload_schema: fields } = isObject(found) ? found : {};
      return { config: JSON.stringify(config), fields: isObject(fields) ? fields : {} };
    },
    async [Symbol.asyncDispose]() {
      for (const vectors of hubs) await vectors.stop();
      for (const name of ['docs', 'notes', 'other-docs']) await send('DELETE', name);
    },
  };
}

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
/** Indexes as earlier versions of the hub created them. */
const former = {
  scope: { type: 'keyword', is_tenant: true },
  tag: { type: 'keyword' },
  expires_at: { type: 'integer' },
  put_at: { type: 'integer' },
};

describe.each(places)('in %s', (_name, url) => {
  test('a collection is created with a marker, all indexes, and no graph', async () => {
    await using scene = openScene(url);
    const vectors = scene.hub();
    await vectors.put('docs', pointOf(at(0)), roomy);
    await vectors.put('docs', pointOf(at(1)), roomy);
    const { config, fields } = await scene.schema('docs');
    assert.match(config, /"size":2,"distance":"Cosine"/);
    assert.match(config, /"hnsw_config":\{"m":0,/);
    const marker = `agenthub.${scene.deployment}`;
    const names = [marker, ...Object.keys(former)].toSorted();
    assert.deepEqual(Object.keys(fields).toSorted(), names);
    assert.match(JSON.stringify(fields['scope']), /"is_tenant":true/);
  });

  test('collections of other programs are neither swept, cleared nor counted, and are logged once by name', async () => {
    await using scene = openScene(url);
    await using elsewhere = openScene(url);
    for (const each of [scene, elsewhere]) await each.makeForeign('notes');
    const vectors = scene.hub();
    await vectors.put('docs', pointOf(at(0)), roomy);
    assert.equal(await vectors.removeTag(), 1);
    assert.equal(await vectors.removeTag(), 0);
    assert.equal((await vectors.stats()).entries, 0);
    assert.equal(await scene.count('notes'), 1);
    const named = scene.logged.filter(({ level }) => level === 'warn');
    assert.deepEqual(
      named.map(({ fields }) => fields),
      [{ collection: `${scene.deployment}-notes` }],
    );
  });

  test('a deployment does not touch those of another one, even if its name is a prefix', async () => {
    await using scene = openScene(url);
    const other = scene.hub(`${scene.deployment}-other`);
    await other.put('docs', pointOf(at(0), { name: 'theirs' }), roomy);
    const vectors = scene.hub();
    assert.equal((await vectors.stats()).entries, 0);
    assert.equal(await vectors.removeTag(), 0);
    assert.deepEqual(await namesIn(other), ['theirs']);
    assert.deepEqual(scene.logged, []);
  });

  test('a collection of an earlier version, without a marker, is adopted', async () => {
    await using scene = openScene(url);
    await scene.send('PUT', 'docs', { vectors: { size: 2, distance: 'Cosine' } });
    for (const [field, schema] of Object.entries(former)) await scene.index('docs', field, schema);
    const { id, payload } = pointOf(at(0), { name: 'former' });
    const points = [{ id, vector: [1, 0], payload: { ...payload, put_at: 1 } }];
    await scene.send('PUT', 'docs/points?wait=true', { points });
    const vectors = scene.hub();
    assert.equal((await vectors.stats()).entries, 1);
    assert.deepEqual(await namesIn(vectors), ['former']);
    assert.equal(await vectors.removeTag(), 1);
    assert.equal(await scene.count('docs'), 'missing');
  });

  test('a collection with the same indexes and other points is not adopted', async () => {
    await using scene = openScene(url);
    await scene.makeForeign('docs');
    for (const [field, schema] of Object.entries(former)) await scene.index('docs', field, schema);
    const vectors = scene.hub();
    assert.equal(await vectors.removeTag(), 0);
    await assert.rejects(
      vectors.put('docs', pointOf(at(0)), roomy),
      isFailure('refused', /-docs in Qdrant has entries of another program\. Delete it, or set/),
    );
    assert.equal(await scene.count('docs'), 1);
  });

  test.each([
    ['distance', { size: 2, distance: 'Dot' }, /compares vectors by Dot, not by Cosine\. Delete/],
    [
      'datatype',
      { size: 2, distance: 'Cosine', datatype: 'float16' },
      /stores vectors as float16, not as float32\. Delete/,
    ],
    ['number of vectors', { a: { size: 2, distance: 'Cosine' } }, /by none, not by Cosine/],
  ])(
    'a collection of another %s is refused, and the status is down',
    async (_what, shape, words) => {
      await using scene = openScene(url);
      await scene.send('PUT', 'docs', { vectors: shape });
      const vectors = scene.hub();
      assert.deepEqual(await namesIn(vectors), []);
      await assert.rejects(vectors.put('docs', pointOf(at(0)), roomy), isFailure('refused', words));
      const { status, error } = await vectors.stats();
      assert.equal(status, 'down');
      assert.match(error ?? '', words);
    },
  );

  test('a collection with vectors of another length is reported, and not changed', async () => {
    await using scene = openScene(url);
    await scene.hub().put('docs', pointOf(at(0), { name: 'kept' }), roomy);
    const late = scene.hub();
    await assert.rejects(
      late.put('docs', pointOf(Float32Array.of(1, 0, 0)), roomy),
      isFailure('dimension', /-docs holds vectors of 2 numbers, and this one has 3/),
    );
    assert.deepEqual(await namesIn(late), ['kept']);
  });

  test('a collection that was removed or created again gets its marker and indexes back', async () => {
    await using scene = openScene(url);
    const vectors = scene.hub();
    await vectors.put('docs', pointOf(at(0), { name: 'first' }), roomy);
    await scene.send('DELETE', 'docs');
    assert.deepEqual(await namesIn(vectors), []);
    await vectors.put('docs', pointOf(at(0), { name: 'second' }), roomy);
    assert.deepEqual(await namesIn(vectors), ['second']);
    await scene.send('DELETE', 'docs');
    await scene.send('PUT', 'docs', { vectors: { size: 2, distance: 'Cosine' } });
    await vectors.put('docs', pointOf(at(0), { name: 'third' }), roomy);
    assert.equal(Object.keys((await scene.schema('docs')).fields).length, 5);
    assert.deepEqual(await namesIn(vectors), ['third']);
  });

  test('a collection that the hub is making is not taken for that of another program', async () => {
    await using scene = openScene(url);
    const vectors = scene.hub();
    let isPut = false;
    const put = vectors.put('docs', pointOf(at(0)), roomy).then(() => (isPut = true));
    const look = async () => {
      while (!isPut) await vectors.stats();
    };
    await Promise.all([put, look(), look(), look()]);
    assert.deepEqual(scene.logged, []);
  });

  test('a collection that another program made again is not looked into once it is seen', async () => {
    await using scene = openScene(url);
    const vectors = scene.hub();
    await vectors.put('docs', pointOf(at(0)), roomy);
    await scene.send('DELETE', 'docs');
    await scene.makeForeign('docs');
    const payload = { ...pointOf(at(0), { name: 'theirs' }).payload };
    const points = [{ id: idOf(2), vector: [1, 0], payload }];
    await scene.send('PUT', 'docs/points?wait=true', { points });
    await vectors.stats();
    assert.deepEqual(await namesIn(vectors), []);
    assert.match(scene.logged[0]?.message ?? '', /was not made by it: the hub leaves it alone/);
  });

  test('a collection is removed with its last entry, cleared or expired', async () => {
    await using scene = openScene(url);
    const vectors = scene.hub();
    const expires_at = scene.clock.now() + 1_000;
    await vectors.put('docs', pointOf(at(0), { expires_at }), roomy);
    scene.clock.advance(600_000);
    await vectors.put('notes', pointOf(at(0), { tag: 'a' }), roomy);
    assert.equal(await scene.count('docs'), 'missing');
    assert.equal(await scene.count('notes'), 1);
    assert.equal(await vectors.removeTag('b'), 0);
    assert.equal(await scene.count('notes'), 1);
    assert.equal(await vectors.removeTag('a'), 1);
    assert.equal(await scene.count('notes'), 'missing');
    assert.deepEqual(await namesIn(vectors, 'notes'), []);
  });

  test('a refusal of strict mode is reported with the setting to change', async () => {
    await using scene = openScene(url);
    const vectors = scene.hub();
    await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
    const strict = (limits: object) =>
      scene.send('PATCH', 'docs', { strict_mode_config: { enabled: true, ...limits } });
    await strict({ search_allow_exact: false });
    const refused = isFailure('refused', /400: Bad request: .*Change search_allow_exact in/);
    await assert.rejects(namesIn(vectors), refused);
    const { status, error } = await vectors.stats();
    assert.equal(status, 'down');
    assert.match(error ?? '', /Change search_allow_exact/);
    await strict({ search_allow_exact: true, max_query_limit: 4 });
    await assert.rejects(
      namesIn(vectors, 'docs', { limit: 5 }),
      isFailure('refused', /Limit exceeded 5 > 4 for "limit".*Change max_query_limit in/),
    );
    assert.deepEqual(await namesIn(vectors, 'docs', { limit: 4 }), ['kept']);
  });
});

test('the marker is the first index, so that no other deployment adopts an unfinished collection', async () => {
  await using scene = openScene(double.url);
  await scene.hub().put('docs', pointOf(at(0)), roomy);
  const [first] = Object.keys((await scene.schema('docs')).fields);
  assert.equal(first, `agenthub.${scene.deployment}`);
});

test('a Qdrant before 1.11.1 gets an integer index with all of its parameters', async () => {
  await using old = await startQdrant({ version: '1.10.1' });
  await using scene = openScene(old.url);
  const vectors = scene.hub();
  await vectors.put('docs', pointOf(at(0), { name: 'kept' }), roomy);
  assert.deepEqual(await namesIn(vectors), ['kept']);
});

test('all requests and responses match the description of Qdrant 1.19', () => {
  assert.deepEqual(double.problems, []);
});
