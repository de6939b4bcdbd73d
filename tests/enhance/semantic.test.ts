import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, test } from 'vitest';
import { defaultRules } from '#config';
import { silent } from '#core';
import { until } from '#helpers/hub';
import { VectorsFailure, createEmbeddedVectors } from '#vectors';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { createRuleBook, keysOf } from '../../hub/enhance/rules.ts';
import { createSemanticCache } from '../../hub/enhance/semantic.ts';
import { modelNamed } from '../doubles/ollama.ts';
import { type RulesChanges, rulesOf } from './rules-of.ts';
import {
  type SemanticScene,
  lookup,
  never,
  openSemantic,
  openTables,
  untilIdle,
} from './semantic-scene.ts';
import { scriptedJudge } from './scripted-judge.ts';

const first = 'How do I undo my last git commit?';
const reworded = 'Is there a good way to step back from my last git commit?';
const other = 'How do I undo my last git push?';

describe('a prompt', () => {
  test('with the same words finds the entry, with similarity, age and reason', async () => {
    await using scene = await openSemantic();
    await scene.store(first);
    scene.clock.advance(5_000);
    const found = await scene.find(`Hi! ${first} Thanks.`);
    assert.ok(found.kind === 'hit');
    assert.deepEqual(
      [found.value, found.prompt, found.ageMs, found.why],
      [`better: ${first}`, first, 5_000, 'the same words in the same order'],
    );
    assert.ok(found.similarity > 0.5 && found.similarity <= 1);
  });

  test('is a miss if the guards see a difference, whatever the judge would say', async () => {
    const judge = scriptedJudge('same');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    const found = await scene.find(other);
    assert.ok(found.kind === 'miss');
    assert.equal(found.why, '“push” and “commit” are two things');
    assert.deepEqual(judge.asked, []);
  });

  test('below the threshold is a miss', async () => {
    await using scene = await openSemantic();
    await scene.store(first);
    const found = await scene.find(reworded, {
      threshold: { value: 0.99, from: 'rule' },
    });
    assert.deepEqual(found, { kind: 'miss', why: 'no cached prompt is similar enough' });
  });

  test('that is both searched and stored is embedded once, with the task prefix of the model, uncut', async () => {
    await using scene = await openSemantic();
    await scene.find(first);
    await scene.store(first);
    const bodies = scene.ollama.received('/api/embed').map(({ body }) => body);
    assert.deepEqual(
      bodies.map(({ input, truncate }) => [input, truncate]),
      [['clustering: how do I undo my last git commit', false]],
    );
  });

  test('is not found once its TTL is over', async () => {
    await using scene = await openSemantic();
    await scene.store(first, 'better', { ttlMs: 60_000 });
    scene.clock.advance(59_999);
    assert.equal((await scene.find(first)).kind, 'hit');
    scene.clock.advance(1);
    assert.equal((await scene.find(first)).kind, 'miss');
  });

  test('with a secret is neither stored, searched nor sent to a model; nor is a result with a secret', async () => {
    await using scene = await openSemantic();
    const secret = 'Why does password=hunter2-and-more not work?';
    assert.equal(await scene.store(secret), 'the prompt seems to hold a secret');
    assert.deepEqual(await scene.find(secret), {
      kind: 'miss',
      why: 'the prompt seems to hold a secret',
    });
    assert.deepEqual(scene.ollama.received('/api/embed'), []);
    assert.equal(await scene.store(first, secret), 'the result seems to hold a secret');
    assert.equal((await scene.find(first)).kind, 'miss');
  });

  test('that is blank or too long is not cached, nor is a blank result', async () => {
    await using scene = await openSemantic(undefined, { maxPromptLength: 100 });
    assert.equal(await scene.store(' \n'), 'the prompt is blank');
    assert.equal(await scene.store('a '.repeat(51)), 'the prompt is longer than 100 characters');
    assert.equal(await scene.store(first, ' '), 'the result is blank');
    assert.equal((await scene.cache.stats()).vectors.entries, 0);
  });

  test('is not found for another client, rule, model, system prompt or embedding model', async () => {
    await using scene = await openSemantic(scriptedJudge('same'));
    const scopeOf = (client: string, rules: RulesChanges = {}, digest = 'd1') =>
      keysOf(createRuleBook(() => rulesOf(rules), 'm:1').choose(client), digest, '').scope ??
      assert.fail();
    const { options } = defaultRules.default;
    const own = scopeOf('editor');
    await scene.store(first, 'better', { scope: own });
    const others = [
      scopeOf('terminal'),
      scopeOf('editor', { clients: { editor: {} } }),
      scopeOf('editor', { rule: { model: 'm:2' } }),
      scopeOf('editor', { rule: { systemPrompt: 'Another.' } }),
      scopeOf('editor', { rule: { options: { ...options, temperature: 0.9 } } }),
      scopeOf('editor', {}, 'd2'),
    ];
    for (const mode of ['verified', 'threshold'] as const)
      for (const scope of others) {
        const found = await scene.find(first, { scope, mode });
        assert.deepEqual(found, { kind: 'miss', why: 'no cached prompt is similar enough' });
      }
    assert.equal((await scene.find(first, { scope: own })).kind, 'hit');
    const model = modelNamed('mxbai-embed-large');
    scene.ollama.add(model);
    const { models, vectors, clock } = scene;
    const needs = { vectors, judge: undefined, tables: openTables(), clock, log: silent };
    const embeds = [
      { digest: 'another', name: 'nomic-embed-text' },
      { digest: undefined, name: model.name },
    ].map(({ digest, name }) => ({
      name,
      embed: async (...given: Parameters<typeof models.embed>) => {
        const { vector, digest: real } = await models.embed('nomic-embed-text', given[1], given[2]);
        return { vector, digest: digest ?? real };
      },
    }));
    for (const { name, embed } of embeds) {
      const cache = createSemanticCache(
        { embeddingModel: name },
        { ...needs, models: { ...models, embed } },
      );
      assert.equal((await cache.find(first, { ...lookup, scope: own }, never)).kind, 'miss', name);
    }
  });
});

/** Guards that find all prompts about the last commit alike. */
const lenient = (a: string, b: string) => {
  const found = compareGuarded(a, b);
  const isAlike = found.verdict === 'unsure' && b.includes('my last git commit');
  return isAlike ? ({ verdict: 'alike', why: 'explained' } as const) : found;
};
const long = `How do I undo my last git commit ${'without losing the changes that I made to my files today '.repeat(4)}?`;
const longReworded = long.replace('How do I', 'How can I');
const guarded = { mode: 'guarded', threshold: undefined } as const;

/** Advances the clock until the embedding model of the cache is calibrated. Returns the threshold. */
async function untilCalibrated({ clock, cache }: Pick<SemanticScene, 'clock' | 'cache'>) {
  for (;;) {
    const { threshold } = (await cache.stats()).calibration;
    if (threshold !== undefined) return threshold;
    clock.advance(200);
    // Pending calls need real time, and their timeouts run on this clock, so it must not advance too fast.
    await new Promise(resolve => setTimeout(resolve, 2));
  }
}

describe('the mode `guarded`', () => {
  test('only counts hits until the embedding model is calibrated, unless the words are the same', async () => {
    await using scene = await openSemantic(undefined, { compare: lenient });
    await scene.store(long);
    const early = await scene.find(longReworded, guarded);
    assert.ok(early.kind === 'miss');
    assert.equal(early.why, 'shadow: the same request in other words');
    assert.equal((await scene.find(`Please, ${long}`, guarded)).kind, 'hit');
    const { hits, shadowHits } = await scene.cache.stats();
    assert.deepEqual([hits, shadowHits], [1, 1]);
    const threshold = await untilCalibrated(scene);
    const found = await scene.find(longReworded, guarded);
    assert.ok(found.kind === 'hit');
    assert.equal(found.why, 'the same request in other words');
    assert.ok(found.similarity > threshold && threshold > 0.5, `${found.similarity} ${threshold}`);
    await scene.store(first);
    assert.equal((await scene.find(reworded, guarded)).kind, 'miss');
    const explained = await scene.cache.explain(longReworded, { ...lookup, ...guarded }, never);
    assert.deepEqual(explained.threshold, { value: threshold, from: 'calibration' });
  });

  test('has another threshold for another embedding model', async () => {
    await using scene = await openSemantic();
    await scene.find(first, guarded);
    const threshold = await untilCalibrated(scene);
    const { models, vectors, clock } = scene;
    const flat: typeof models.embed = async (...given) => {
      const { vector } = await models.embed('nomic-embed-text', given[1], given[2]);
      return {
        vector: unit(vector.map((value, at) => value + (at === 0 ? 1 : 0))),
        digest: 'flat',
      };
    };
    const cache = createSemanticCache(
      { embeddingModel: 'flat' },
      {
        models: { ...models, embed: flat },
        vectors,
        judge: undefined,
        tables: openTables(),
        clock,
        log: silent,
      },
    );
    await cache.find(first, { ...lookup, ...guarded }, never);
    assert.ok((await untilCalibrated({ clock, cache })) > threshold + 0.05);
  });

  test('needs no calibration if a threshold is set', async () => {
    await using scene = await openSemantic(undefined, { compare: lenient });
    await scene.store(first);
    const found = await scene.find(reworded, { mode: 'guarded' });
    assert.equal(found.kind, 'hit');
    assert.deepEqual((await scene.cache.stats()).calibration, { compared: 0, of: 0 });
  });

  test('makes a miss if the guards are unsure, but has the pair judged', async () => {
    const judge = scriptedJudge('same');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    assert.equal((await scene.find(reworded, { mode: 'guarded' })).kind, 'miss');
    await untilIdle(scene);
    assert.equal((await scene.find(reworded, { mode: 'guarded' })).kind, 'hit');
  });
});

const unit = (vector: Float32Array) => {
  const length = Math.hypot(...vector);
  return vector.map(value => value / length);
};

test('prompts that an earlier version embedded unnormalized are not compared', async () => {
  await using scene = await openSemantic();
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-semantic-'));
  const file = join(folder, 'semantic.sqlite');
  const data = new URL('../data/semantic-embedded-raw.sqlite.gz', import.meta.url);
  await writeFile(file, gunzipSync(await readFile(data)));
  const { clock, models } = scene;
  const vectors = createEmbeddedVectors(file, { clock, log: silent });
  await vectors.start(never);
  assert.equal((await vectors.stats()).entries, 1);
  const cache = createSemanticCache(
    { embeddingModel: 'nomic-embed-text' },
    { models, vectors, judge: undefined, tables: openTables(), clock, log: silent },
  );
  assert.equal((await cache.find(first, lookup, never)).kind, 'miss');
  await cache.store(
    { prompt: first, value: 'new' },
    { scope: 'scope', tag: 't', ttlMs: 60_000 },
    never,
  );
  const found = await cache.find(first, lookup, never);
  assert.equal(found.kind === 'hit' && found.value, 'new');
  await vectors.stop();
  await rm(folder, { recursive: true });
});

describe('the mode', () => {
  test('`off` sends no request', async () => {
    await using scene = await openSemantic();
    await scene.store(first);
    const asked = scene.ollama.received().length;
    assert.deepEqual(await scene.find(first, { mode: 'off' }), {
      kind: 'miss',
      why: 'switched off',
    });
    assert.equal(scene.ollama.received().length, asked);
  });

  test('`shadow` returns misses, counts hits, and has pairs judged', async () => {
    const judge = scriptedJudge('same');
    await using scene = await openSemantic(judge);
    await scene.store(first);
    const same = await scene.find(`please ${first}`, { mode: 'shadow' });
    assert.ok(same.kind === 'miss');
    assert.equal(same.why, 'shadow: the same words in the same order');
    assert.equal((await scene.find(reworded, { mode: 'shadow' })).kind, 'miss');
    scene.clock.advance(5_000);
    await until(() => judge.asked.length === 1);
    assert.deepEqual(judge.asked, [[first, reworded]]);
    const { hits, misses, shadowHits } = await scene.cache.stats();
    assert.deepEqual([hits, misses, shadowHits], [0, 1, 1]);
  });

  test('`threshold` returns an entry above the threshold unless a guard rejects it', async () => {
    await using scene = await openSemantic();
    await scene.store(first);
    const found = await scene.find(reworded, { mode: 'threshold' });
    assert.ok(found.kind === 'hit');
    assert.equal((await scene.find(other, { mode: 'threshold' })).kind, 'miss');
  });

  test('`verified` without a judge returns only what the guards are sure of', async () => {
    await using scene = await openSemantic();
    await scene.store(first);
    const found = await scene.find(reworded);
    assert.ok(found.kind === 'miss');
    assert.match(found.why, /: there is no judge$/);
  });
});

describe('a failure', () => {
  test('of Ollama is a miss with its reason', async () => {
    await using scene = await openSemantic();
    await scene.store(first);
    await scene.ollama.stop();
    const found = await scene.find(reworded);
    assert.ok(found.kind === 'miss');
    assert.notEqual(found.why, 'no cached prompt is similar enough');
    assert.equal(typeof (await scene.store(reworded)), 'string');
    assert.equal((await scene.cache.stats()).errors, 2);
  });

  test('of the index is a miss with its reason', async () => {
    await using scene = await openSemantic();
    const { models, vectors, clock } = scene;
    const fail = async () => {
      throw new VectorsFailure('full', 'the disk is full');
    };
    const cache = createSemanticCache(
      { embeddingModel: 'nomic-embed-text' },
      {
        models,
        vectors: { ...vectors, near: fail, put: fail },
        judge: undefined,
        tables: openTables(),
        clock,
        log: silent,
      },
    );
    assert.deepEqual(await cache.find(first, lookup, never), {
      kind: 'miss',
      why: 'the disk is full',
    });
    const bounds = { scope: 'scope', tag: 'default', ttlMs: 1 };
    assert.equal(
      await cache.store({ prompt: first, value: 'better' }, bounds, never),
      'the disk is full',
    );
  });

  test('by an abort rejects with its reason', async () => {
    await using scene = await openSemantic();
    scene.ollama.fails('/api/embed', { kind: 'hang' });
    const gone = new AbortController();
    const finding = scene.cache.find(first, lookup, gone.signal);
    gone.abort(new Error('the client has gone'));
    await assert.rejects(finding, { message: 'the client has gone' });
  });
});

test('the results of a tag are forgotten without those of other tags', async () => {
  await using scene = await openSemantic();
  await scene.store(first, 'better', { tag: 'editor' });
  await scene.store('Explain monads', 'better', { tag: 'terminal' });
  assert.equal(await scene.cache.forget('editor'), 1);
  assert.equal((await scene.find(first)).kind, 'miss');
  assert.equal((await scene.find('Explain monads')).kind, 'hit');
});

test('an explanation has the nearest entries, the verdict of the guards, and the judgement', async () => {
  await using scene = await openSemantic(scriptedJudge('different'));
  await scene.store(first);
  await scene.store(other);
  await scene.find(reworded);
  await untilIdle(scene);
  const threshold = { value: 0.2, from: 'rule' } as const;
  const explained = await scene.cache.explain(reworded, { ...lookup, threshold }, never);
  assert.deepEqual(explained.threshold, threshold);
  const nearby = explained.entries;
  const own = nearby.find(({ prompt }) => prompt === first) ?? assert.fail();
  assert.deepEqual([own.verdict, own.label], ['unsure', 'different']);
  const pushed = nearby.find(({ prompt }) => prompt === other) ?? assert.fail();
  assert.deepEqual(
    [pushed.verdict, pushed.why, pushed.label],
    ['different', '“commit” and “push” are two things', undefined],
  );
  assert.ok(nearby.every(({ similarity }) => similarity > -0.05));
});
