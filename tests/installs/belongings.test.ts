import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ServerConfig } from '#config';
import { configOf, createRecordingLog } from '#helpers/hub';
import { planLaunch } from '#servers';
import { createTable } from '#store';
import type { Belonging, LaunchSpec, Upkeep } from '#runtimes';
import {
  type BelongingsNeeds,
  belongingsOf,
  createUnfinished,
  ownOf,
} from '../../hub/installs/belongings.ts';

const image: Belonging = { kind: 'image', name: 'a/b:1' };
const volume: Belonging = { kind: 'volume', name: 'data' };
const events = { stderr() {}, progress() {} };
const { signal } = new AbortController();

/** Creates the upkeep of a server whose belongings (images, volumes) are `existing`. Discarding `stuck` fails. */
function createUpkeep(existing: readonly Belonging[], stuck?: Belonging) {
  const discarded: Belonging[] = [];
  const upkeep: Upkeep = {
    prepare: async () => ({ prepared: true }),
    candidates: async ({ server }) => [image, { kind: 'volume', name: server }],
    belongings: async () => existing,
    async discard(one) {
      if (one.name === stuck?.name) throw new Error('it is in use');
      discarded.push(one);
    },
  };
  return { upkeep, discarded };
}

/** Returns a launch as a process. Throws for a server called `broken`. */
function specOf({ name }: ServerConfig): LaunchSpec {
  if (name === 'broken') throw new Error('it cannot be launched');
  return {
    server: name,
    env: {},
    maxLineBytes: 1,
    maxWaitingBytes: 1,
    target: { kind: 'process', command: 'x', args: [] },
  };
}

const needsOf = (upkeep?: Upkeep): BelongingsNeeds => ({
  specOf,
  upkeeps: upkeep ? { process: upkeep } : {},
});
const config = (name: string) => configOf({ name });

describe('the belongings of a server', () => {
  test('are none if its runtime keeps nothing for servers', async () => {
    const belongings = belongingsOf(config('one'), needsOf());
    assert.equal(belongings.kind, 'process');
    assert.deepEqual(await belongings.list(), []);
    assert.deepEqual(await belongings.candidates(), []);
    assert.deepEqual(await belongings.prepare(events, signal), {});
    assert.deepEqual(await belongings.discard([]), { removed: [], left: [] });
  });

  test('are discarded one by one, and one that fails is left with the reason', async () => {
    const { upkeep, discarded } = createUpkeep([image, volume], image);
    const belongings = belongingsOf(config('one'), needsOf(upkeep));
    assert.deepEqual(await belongings.prepare(events, signal), { prepared: true });
    assert.deepEqual(await belongings.discard(await belongings.list()), {
      removed: [volume],
      left: [{ ...image, why: 'it is in use' }],
    });
    assert.deepEqual(discarded, [volume]);
  });
});

describe('of the belongings of a server', () => {
  test('those that another server may have too are left', async () => {
    const { upkeep } = createUpkeep([]);
    const mine: readonly Belonging[] = [image, { kind: 'volume', name: 'one' }];
    const others = [config('broken'), config('two'), config('three')];
    assert.deepEqual(await ownOf(mine, others, needsOf(upkeep)), {
      own: [{ kind: 'volume', name: 'one' }],
      left: [{ ...image, why: 'the server two has it too' }],
    });
  });

  test('none is determined if another server with volumes cannot be launched', async () => {
    const { upkeep } = createUpkeep([]);
    const broken = config('broken');
    assert.ok(broken.launch.kind === 'local');
    const volumes = [{ name: 'shared', target: '/data' }];
    const launch = { ...broken.launch, sandbox: { ...broken.launch.sandbox, volumes } };
    await assert.rejects(
      ownOf([{ kind: 'volume', name: 'shared' }], [{ ...broken, launch }], needsOf(upkeep)),
      /cannot be launched/,
    );
  });

  test('those of a server whose secret is missing are left', async () => {
    const { upkeep } = createUpkeep([]);
    const other = { ...config('two'), secretFaults: ['the secret X is not set'] };
    const needs: BelongingsNeeds = {
      specOf: one => planLaunch(one, { auto: 'process', dataDir: '/data' }),
      upkeeps: { process: upkeep },
    };
    const { own, left } = await ownOf([{ kind: 'volume', name: 'two' }], [other], needs);
    assert.deepEqual(own, []);
    assert.equal(left[0]?.why, 'the server two has it too');
  });

  test('none counts as its own while those of another server cannot be determined', async () => {
    const { upkeep } = createUpkeep([]);
    const failing = {
      ...upkeep,
      candidates: async () => {
        throw new Error('the engine is away');
      },
    };
    await assert.rejects(ownOf([image], [config('two')], needsOf(failing)), /engine is away/);
    assert.deepEqual(await ownOf([], [config('two')], needsOf(failing)), { own: [], left: [] });
  });
});

describe('an object that an unfinished install created', () => {
  function open(existing: readonly ServerConfig[], { upkeep }: ReturnType<typeof createUpkeep>) {
    const { log, logged } = createRecordingLog();
    const table = createTable({ file: undefined, maxEntries: 100 }, { log });
    const needs = {
      ...needsOf(upkeep),
      log,
      unfinished: table,
      configFile: { configs: () => existing },
    };
    const keys = async () => (await table.entries()).map(([key]) => key);
    return { unfinished: createUnfinished(needs), table, keys, logged };
  }

  test('is removed by the next run, unless an entry uses it', async () => {
    const kept = createUpkeep([]);
    const { unfinished, keys, logged } = open([config('two')], kept);
    const two: Belonging = { kind: 'volume', name: 'two' };
    await unfinished.begin('process', [volume, two]);
    assert.deepEqual(await keys(), ['volume data', 'volume two']);
    await unfinished.clear();
    assert.deepEqual(kept.discarded, [volume]);
    assert.deepEqual(await keys(), []);
    assert.equal(logged.length, 1);
  });

  test('is forgotten when it has ended', async () => {
    const kept = createUpkeep([]);
    const { unfinished, keys } = open([], kept);
    await unfinished.begin('process', [image, volume]);
    await unfinished.end([image]);
    assert.deepEqual(await keys(), ['volume data']);
  });

  test('stays recorded if it cannot be removed, and the others are removed', async () => {
    const kept = createUpkeep([], image);
    const { unfinished, keys, logged } = open([], kept);
    await unfinished.begin('process', [image, volume]);
    await unfinished.clear();
    assert.deepEqual(await keys(), ['image a/b:1']);
    assert.deepEqual(kept.discarded, [volume]);
    assert.deepEqual(
      logged.map(({ level }) => level),
      ['warn', 'info'],
    );
  });

  test.for(['', 'image', 'image ', 'secret x'])(
    'with the invalid record %j is dropped',
    async key => {
      const kept = createUpkeep([]);
      const { unfinished, table, keys } = open([], kept);
      await table.put(key, 'process');
      await unfinished.clear();
      assert.deepEqual([await keys(), kept.discarded], [[], []]);
    },
  );

  test('is not recorded without a store', async () => {
    const { log } = createRecordingLog();
    const unfinished = createUnfinished({ ...needsOf(), log, configFile: { configs: () => [] } });
    await unfinished.begin('process', [image]);
    await unfinished.clear();
  });
});
