import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type ExactCache, createMemoryCache } from '#cache';
import { systemClock } from '#core';
import { until } from '#helpers/hub';
import { frame } from '../../hub/enhance/frame.ts';
import { busy, improvedOf, modelNamed } from '../doubles/ollama.ts';
import { type RulesChanges, quick } from './rules-of.ts';
import { openScene, roomy } from './enhancer-scene.ts';

const improved = improvedOf('make it good');
const patient = { rule: { totalMs: 20_000, firstTokenMs: 10_000, loadMs: 10_000 } } as const;

/** Creates a cache that counts its lookups. */
function countingCache() {
  const exact = createMemoryCache(roomy, { clock: systemClock });
  let asked = 0;
  const counting: ExactCache = {
    ...exact,
    getOrFill(...given) {
      asked++;
      return exact.getOrFill(...given);
    },
  };
  return { exact: counting, waiting: () => asked };
}

describe('a prompt', () => {
  test("goes to the rule's model with its system prompt and options, and is returned improved", async () => {
    await using scene = await openScene({
      clients: { editor: { model: 'phi3:mini', systemPrompt: 'Code first.' } },
    });
    const done = await scene.enhance('make it good', { client: 'Editor' });
    const { tookMs, ...rest } = done;
    assert.ok(tookMs >= 0);
    assert.deepEqual(rest, {
      prompt: improved,
      enhanced: true,
      source: 'model',
      cache: 'miss',
      client: 'editor',
      rule: 'editor',
      model: 'phi3:mini',
      attempts: [],
    });
    const body = scene.ollama.received('/api/chat')[0]?.body ?? assert.fail();
    const { system, prompt } = frame('make it good', 'Code first.');
    assert.deepEqual(body['messages'], [
      { role: 'system', content: system },
      { role: 'user', content: prompt },
    ]);
    assert.deepEqual(body['options'], { temperature: 0.2, num_ctx: 8192, num_predict: 2048 });
    assert.equal(body['think'], false);
  });

  test('with half a surrogate pair, as clients cut texts, is improved', async () => {
    await using scene = await openScene();
    // Ollama reads the unpaired surrogate as U+FFFD.
    scene.ollama.says(() => improvedOf('make it good \ufffd'));
    const { prompt, reason } = await scene.enhance('make it good \ud83d');
    assert.deepEqual([prompt, reason], [improvedOf('make it good \ufffd'), undefined]);
  });

  test('of an unknown client, or of none, uses the default rule', async () => {
    await using scene = await openScene({ clients: { editor: { model: 'phi3:mini' } } });
    const unknown = await scene.enhance('one', { client: 'never-heard-of' });
    assert.deepEqual(
      [unknown.client, unknown.rule, unknown.model],
      ['never-heard-of', 'default', 'llama3.2:3b'],
    );
    const nameless = await scene.enhance('one');
    assert.deepEqual([nameless.client, nameless.rule], ['default', 'default']);
  });

  test('of a rule without a model goes to OLLAMA_MODEL', async () => {
    await using scene = await openScene({
      rule: { model: undefined },
      ollama: { models: ['deepseek-r1:latest'] },
    });
    assert.equal((await scene.enhance('one')).model, 'deepseek-r1:latest');
  });

  test('of a disabled rule is returned unchanged, and no model is asked', async () => {
    await using scene = await openScene({ clients: { off: { enabled: false } } });
    const done = await scene.enhance('as it is\r\n', { client: 'off' });
    assert.equal(done.prompt, 'as it is\r\n');
    assert.deepEqual([done.enhanced, done.source, done.cache], [false, 'disabled', 'disabled']);
    assert.match(done.reason ?? '', /"off" has "enabled": false/);
    assert.deepEqual(scene.ollama.received(), []);
  });

  test('uses the rules as last reloaded', async () => {
    await using scene = await openScene();
    assert.equal((await scene.enhance('one')).model, 'llama3.2:3b');
    scene.follow({ rule: { model: 'phi3:mini' } });
    assert.equal((await scene.enhance('one')).model, 'phi3:mini');
  });

  test('that exceeds the context size is not sent to a model, which would see half of it', async () => {
    await using scene = await openScene({
      rule: { options: { temperature: 0, num_ctx: 300, num_predict: 100, think: false } },
    });
    const long = 'word '.repeat(200);
    const done = await scene.enhance(long);
    assert.equal(done.prompt, long);
    assert.equal(done.source, 'unchanged');
    assert.match(done.reason ?? '', /up to \d+ tokens, and the window of the model 300.*"num_ctx"/);
    assert.deepEqual(scene.asked(), []);
  });

  test('of white space is returned, and no model is asked', async () => {
    await using scene = await openScene();
    assert.equal((await scene.enhance(' \n\t')).prompt, ' \n\t');
    assert.deepEqual(scene.asked(), []);
  });

  test('is aborted, and its model too, when the caller aborts', async () => {
    await using scene = await openScene({
      rule: { firstTokenMs: 60_000, loadMs: 60_000, totalMs: 60_000 },
    });
    scene.ollama.fails('/api/chat', { kind: 'hang' });
    const leaving = new AbortController();
    const asked = scene.enhance('one', {}, leaving.signal);
    await until(() => scene.asked().length === 1);
    leaving.abort(new Error('gone'));
    await assert.rejects(asked, /gone/);
    await until(() => scene.ollama.received('/api/chat')[0]?.isAbandoned === true);
  });
});

test('a prompt is returned with the reason when the hub stops, without a failure in the log', async () => {
  await using scene = await openScene({
    rule: { firstTokenMs: 60_000, loadMs: 60_000, totalMs: 60_000 },
  });
  scene.ollama.fails('/api/chat', { kind: 'hang' });
  const asked = scene.enhance('one');
  await until(() => scene.asked().length === 1);
  const uncached = scene.enhance('two', { bypass: true });
  await scene.exact.stop();
  const { prompt, reason } = await asked;
  await until(() => scene.asked().length === 2);
  await scene.models.stop();
  assert.match((await uncached).reason ?? '', /hub stops/);
  assert.equal(prompt, 'one');
  assert.match(reason ?? '', /hub shuts down/);
  assert.deepEqual(
    scene.logged.filter(({ level }) => level === 'warn' || level === 'error'),
    [],
  );
});

describe('the result of a model', () => {
  test('is found again for the same prompt, with its age, and no model is asked', async () => {
    await using scene = await openScene();
    await scene.enhance('make it good');
    const again = await scene.enhance('make it good\r\n\n');
    assert.equal(again.prompt, improved);
    assert.deepEqual([again.source, again.cache, again.model], ['l1', 'hit_l1', 'llama3.2:3b']);
    assert.ok((again.ageMs ?? -1) >= 0);
    assert.deepEqual(again.attempts, []);
    assert.deepEqual(scene.asked(), ['llama3.2:3b']);
  });

  test.each(['Make it good', 'make it  good', ' make it good', 'make it good.'])(
    'is found for %j, except in the mode `shadow`',
    async other => {
      for (const [cacheMode, source] of [
        ['guarded', 'l1'],
        ['shadow', 'model'],
      ] as const) {
        await using scene = await openScene({ rule: { cacheMode } });
        await scene.enhance('make it good');
        assert.equal((await scene.enhance(other)).source, source);
      }
    },
  );

  test.each<readonly [string, RulesChanges, RulesChanges, string, string]>([
    ['client', {}, {}, 'one', 'two'],
    ['rule', {}, { clients: { one: {} } }, 'one', 'one'],
    ['model', {}, { rule: { model: 'phi3:mini' } }, 'one', 'one'],
    ['system prompt', {}, { rule: { systemPrompt: 'Otherwise.' } }, 'one', 'one'],
    [
      'option',
      {},
      { rule: { options: { temperature: 0, num_ctx: 8192, num_predict: 2048, think: false } } },
      'one',
      'one',
    ],
  ])('is not found with another %s', async (_what, before, after, first, second) => {
    await using scene = await openScene(before);
    await scene.enhance('make it good', { client: first });
    assert.equal((await scene.enhance('make it good', { client: first })).source, 'l1');
    scene.follow(after);
    assert.equal((await scene.enhance('make it good', { client: second })).source, 'model');
  });

  test('is not found once another model has the same name', async () => {
    await using scene = await openScene();
    await scene.enhance('make it good');
    scene.ollama.add(modelNamed('llama3.2:3b', { digest: 'f'.repeat(64) }));
    // The hub keeps its list of models for 30 s, and reads it again after a pull.
    await scene.models.pull('phi3:mini', () => {}, AbortSignal.timeout(5_000));
    assert.equal((await scene.enhance('make it good')).source, 'model');
  });

  test('is found while Ollama is down', async () => {
    await using scene = await openScene();
    await scene.enhance('make it good');
    await scene.ollama.stop();
    assert.equal((await scene.enhance('make it good')).source, 'l1');
    const other = await scene.enhance('another');
    assert.equal(other.source, 'unchanged');
    assert.match(other.reason ?? '', /Ollama/);
  });

  test.each([
    ['empty', '', /empty answer/],
    ['blank', ' \n ', /empty answer/],
    ['nothing but thoughts', '<think>What do they want?</think>', /thought/],
    ['nothing but thoughts of a model that says so', { thinking: 'What?', text: '' }, /thought/],
    ['cut at the limit of tokens', { text: 'A clear', doneReason: 'length' }, /cut off/],
    ['a refusal', "I'm sorry, but I can't help with that.", /refused/],
    ['a word about itself', 'As an AI language model, I have no opinion.', /spoke of itself/],
    ['far longer than the prompt', 'more '.repeat(1000), /more than the 4000/],
  ] as const)('that is %s is not used, and the next model is asked', async (_what, says, why) => {
    await using scene = await openScene({ fallbackChain: ['phi3:mini'] });
    scene.ollama.says(({ model }) => (model === 'llama3.2:3b' ? says : improved));
    const done = await scene.enhance('make it good');
    assert.deepEqual([done.prompt, done.source, done.model], [improved, 'fallback', 'phi3:mini']);
    const [attempt] = done.attempts;
    assert.equal(attempt?.model, 'llama3.2:3b');
    assert.match(attempt.message, why);
  });

  test('is used without the thoughts at its beginning', async () => {
    await using scene = await openScene();
    scene.ollama.says('<think>They want a list.</think>\n\nList the planets.');
    assert.equal((await scene.enhance('planets?')).prompt, 'List the planets.');
  });

  test('may begin like a refusal if the prompt does', async () => {
    await using scene = await openScene();
    const said = 'I cannot help but wonder: why does the build fail?';
    scene.ollama.says(said);
    assert.equal(
      (await scene.enhance('I cannot help but wonder why the build fails')).prompt,
      said,
    );
  });
});

describe('the chain', () => {
  test("skips a model that Ollama lacks, says how to pull it, and does not cache the fallback's result", async () => {
    await using scene = await openScene({
      rule: { model: 'hf.co/some/model:q4' },
      fallbackChain: ['phi3:mini'],
    });
    for (const _ of [1, 2]) {
      const done = await scene.enhance('one');
      assert.deepEqual([done.source, done.cache, done.model], ['fallback', 'miss', 'phi3:mini']);
      assert.equal(done.attempts[0]?.kind, 'missing');
      assert.match(
        done.attempts[0].message,
        /"ollama pull hf\.co\/some\/model:q4" or POST \/ollama\/models\/hf\.co%2Fsome%2Fmodel:q4\/pull/,
      );
    }
    assert.deepEqual(scene.asked(), ['phi3:mini', 'phi3:mini']);
  });

  test('does not cache the result of a fallback, even if it is the same model by another name', async () => {
    await using scene = await openScene({ fallbackChain: ['alias:1'] });
    scene.ollama.add(modelNamed('alias:1', { digest: modelNamed('llama3.2:3b').digest }));
    scene.ollama.fails('/api/chat', busy, 1);
    assert.equal((await scene.enhance('one')).source, 'fallback');
    assert.equal((await scene.enhance('one')).source, 'model');
  });

  test('skips a model that cannot complete', async () => {
    await using scene = await openScene({
      rule: { model: 'nomic-embed-text' },
      fallbackChain: ['phi3:mini'],
    });
    const done = await scene.enhance('one');
    assert.equal(done.attempts[0]?.kind, 'incapable');
    assert.deepEqual(scene.asked(), ['phi3:mini']);
  });

  test('continues at once after a busy model, and asks no model twice', async () => {
    await using scene = await openScene({
      fallbackChain: ['llama3.2:3b', 'phi3:mini', 'phi3:mini'],
    });
    scene.ollama.fails('/api/chat', busy);
    const done = await scene.enhance('one');
    assert.equal(done.source, 'unchanged');
    assert.deepEqual(
      done.attempts.map(({ model, kind }) => [model, kind]),
      [
        ['llama3.2:3b', 'busy'],
        ['phi3:mini', 'busy'],
      ],
    );
    assert.ok(done.tookMs < quick.firstTokenMs, `${done.tookMs} ms`);
  });

  test('leaves time for the models after a slow one', async () => {
    await using scene = await openScene({
      rule: { totalMs: 4_000, firstTokenMs: 60_000, loadMs: 60_000 },
      fallbackChain: ['phi3:mini'],
    });
    scene.ollama.fails('/api/chat', { kind: 'hang' }, 1);
    const done = await scene.enhance('one');
    assert.deepEqual([done.source, done.attempts[0]?.kind], ['fallback', 'timeout']);
  });

  test('sends nothing to an Ollama with an open breaker, and says until when', async () => {
    await using scene = await openScene({ failureThreshold: 1, fallbackChain: ['phi3:mini'] });
    await scene.models.list(AbortSignal.timeout(5_000));
    scene.ollama.fails('/api/chat', { kind: 'html', status: 200 });
    await scene.enhance('one');
    const before = scene.ollama.received().length;
    const done = await scene.enhance('two');
    assert.deepEqual(
      done.attempts.map(({ kind }) => kind),
      ['breaker_open'],
    );
    assert.match(done.reason ?? '', /tried again in \d+ s/);
    assert.equal(scene.ollama.received().length, before);
  });
});

describe('caches are bypassed', () => {
  test('for a prompt that contains a secret', async () => {
    await using scene = await openScene();
    const prompt = 'Why does this fail? API_KEY=sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c';
    for (const _ of [1, 2]) {
      const done = await scene.enhance(prompt);
      assert.deepEqual([done.source, done.cache], ['model', 'bypass']);
      assert.match(done.reason ?? '', /secret/);
    }
    assert.equal(scene.asked().length, 2);
    assert.equal((await scene.exact.stats()).entries, 0);
  });
});

describe('concurrent prompts', () => {
  test('that are equal, 200 of them, cause one call of the model', async () => {
    await using scene = await openScene(patient);
    const held = Promise.withResolvers<void>();
    scene.ollama.fails('/api/chat', { kind: 'slow', until: held.promise });
    const asked = Array.from({ length: 200 }, () => scene.enhance('one'));
    await until(() => scene.asked().length > 0);
    held.resolve();
    const all = await Promise.all(asked);
    assert.deepEqual(
      [...new Set(all.map(({ prompt, source }) => `${source} ${prompt}`))],
      [`model ${improvedOf('one')}`],
    );
    assert.deepEqual(scene.asked(), ['llama3.2:3b']);
  });

  test('share a failure of all models, and each is returned unchanged', async () => {
    await using scene = await openScene(patient);
    await scene.models.list(AbortSignal.timeout(5_000));
    const held = Promise.withResolvers<void>();
    scene.ollama.fails('/api/tags', { kind: 'slow', until: held.promise });
    scene.ollama.fails('/api/chat', busy);
    const given = ['one', 'one\n', 'one\r\n'];
    const asked = given.map(prompt => scene.enhance(prompt));
    held.resolve();
    const all = await Promise.all(asked);
    assert.deepEqual(
      all.map(({ prompt }) => prompt),
      given,
    );
    assert.equal(new Set(all.map(({ reason }) => reason)).size, 1);
    assert.deepEqual(scene.asked(), ['llama3.2:3b']);
    assert.equal((await scene.enhance('one')).source, 'unchanged');
    assert.equal(scene.asked().length, 2);
  });

  test('continue for the others when the first caller aborts', async () => {
    const { exact, waiting } = countingCache();
    await using scene = await openScene({ ...patient, exact });
    const held = Promise.withResolvers<void>();
    scene.ollama.fails('/api/chat', { kind: 'slow', until: held.promise });
    const leaving = new AbortController();
    const first = scene.enhance('one', {}, leaving.signal);
    await until(() => scene.asked().length === 1);
    const second = scene.enhance('one');
    await until(() => waiting() === 2);
    leaving.abort(new Error('gone'));
    await assert.rejects(first, /gone/);
    held.resolve();
    assert.equal((await second).prompt, improvedOf('one'));
    assert.deepEqual(scene.asked(), ['llama3.2:3b']);
  });
});

describe('an enhancer', () => {
  test('reports its steps', async () => {
    await using scene = await openScene({
      rule: { model: 'absent:1' },
      fallbackChain: ['phi3:mini'],
    });
    const told: string[] = [];
    await scene.enhancer.enhance({ prompt: 'one' }, AbortSignal.timeout(5_000), progress =>
      told.push(progress.step === 'text' ? progress.text : `${progress.step} ${progress.model}`),
    );
    assert.deepEqual(told.slice(0, 2), ['failed absent:1', 'model phi3:mini']);
    assert.equal(told.slice(2).join(''), improvedOf('one'));
  });

  test('loads the default model at its start, with the context size of its calls', async () => {
    await using scene = await openScene();
    await scene.enhancer.start(AbortSignal.timeout(5_000));
    await until(() => scene.ollama.isLoaded('llama3.2:3b'));
    const body = scene.ollama.received('/api/chat')[0]?.body ?? assert.fail();
    assert.deepEqual(body['options'], { num_ctx: 8192 });
  });

  test('counts the outcomes of prompts and the failures of models', async () => {
    await using scene = await openScene({ clients: { off: { enabled: false } } });
    await scene.enhance('one');
    await scene.enhance('one');
    await scene.enhance('one', { client: 'off' });
    await scene.enhance('one', { bypass: true });
    scene.ollama.fails('/api/chat', busy);
    await scene.enhance('two');
    const { prompts, exact, semantic } = await scene.enhancer.stats();
    assert.deepEqual(prompts, {
      requests: 5,
      running: 0,
      sources: { model: 2, l1: 1, l2: 0, fallback: 0, unchanged: 1, disabled: 1 },
      withoutCache: 1,
      failures: { busy: 1 },
    });
    assert.deepEqual([exact.backend, exact.entries, exact.hits], ['memory', 1, 1]);
    assert.equal(semantic, undefined);
  });

  test('forgets the results of a client, or all', async () => {
    await using scene = await openScene();
    for (const client of ['one', 'two', 'three']) await scene.enhance('p', { client });
    assert.deepEqual(await scene.enhancer.forget('ONE'), { exact: 1, semantic: 0 });
    assert.equal((await scene.enhance('p', { client: 'two' })).source, 'l1');
    assert.equal((await scene.enhance('p', { client: 'one' })).source, 'model');
    assert.deepEqual(await scene.enhancer.forget(), { exact: 3, semantic: 0 });
    assert.equal((await scene.enhance('p', { client: 'two' })).source, 'model');
  });

  test('explains what would be found, without a completion of a model', async () => {
    await using scene = await openScene();
    const before = await scene.enhancer.explain('one', 'editor', AbortSignal.timeout(5_000));
    assert.deepEqual(
      [before.client, before.rule, before.model, before.refused, before.exact.ageMs],
      ['editor', 'default', 'llama3.2:3b', undefined, undefined],
    );
    assert.match(before.digest ?? '', /^[0-9a-f]{64}$/);
    await scene.enhance('one', { client: 'editor' });
    const after = await scene.enhancer.explain('one', 'editor', AbortSignal.timeout(5_000));
    assert.ok((after.exact.ageMs ?? -1) >= 0);
    const secret = 'password=hunter2-correct-horse';
    const refused = await scene.enhancer.explain(secret, undefined, AbortSignal.timeout(5_000));
    assert.match(refused.refused ?? '', /secret/);
    assert.equal(scene.asked().length, 1);
  });

  test('logs no prompt and no result above the level debug', async () => {
    await using scene = await openScene({ fallbackChain: ['phi3:mini'] });
    scene.ollama.says('the-result-of-it');
    await scene.enhance('the-prompt-itself');
    scene.ollama.fails('/api/chat', busy);
    await scene.enhance('the-prompt-itself, again');
    const above = JSON.stringify(scene.logged.filter(({ level }) => level !== 'debug'));
    assert.doesNotMatch(above, /the-prompt-itself|the-result-of-it/);
    assert.match(above, /a model gave no prompt/);
    assert.equal(scene.logged.filter(({ level }) => level === 'warn').length, 1);
  });
});
