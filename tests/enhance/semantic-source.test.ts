import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, test } from 'vitest';
import type { EnhancementRules } from '#config';
import { silent, systemClock } from '#core';
import { type SemanticCache, type SemanticModels, createSemanticSource } from '#enhance';
import { type OllamaDouble, startOllama } from '../doubles/ollama.ts';
import { never } from './enhancer-scene.ts';
import { createRuleBook } from '../../hub/enhance/rules.ts';
import { rulesOf } from './rules-of.ts';

/** Creates a source of caches that find nothing, and records the models for which each cache was loaded. */
function openSource(first: EnhancementRules) {
  let rules = first;
  const loaded: SemanticModels[] = [];
  const found: unknown[] = [];
  const stopped: string[] = [];
  const source = createSemanticSource(
    { threshold: 0.7 },
    {
      rules: () => rules,
      clock: systemClock,
      log: silent,
      async load(models) {
        loaded.push(models);
        const cache: Pick<SemanticCache, 'find' | 'forget' | 'stop'> = {
          async find(_prompt, lookup) {
            found.push([models.embeddingModel, lookup.threshold]);
            return { kind: 'miss', why: 'none' };
          },
          forget: async () => 7,
          stop: () => void stopped.push(models.embeddingModel),
        };
        const fail = () => assert.fail('not used');
        return {
          ...cache,
          store: fail,
          explain: fail,
          thresholdOf: fail,
          stats: async () => fail(),
        };
      },
    },
  );
  return {
    source,
    loaded,
    found,
    stopped,
    follow: (next: EnhancementRules) => void (rules = next),
  };
}

describe('the semantic cache', () => {
  test('is not loaded for rules without embeddings, until entries must be removed', async () => {
    const { source, loaded } = openSource(rulesOf({ rule: { cacheMode: 'off' } }));
    await source.load();
    assert.equal(await source.stats(), undefined);
    source.stop();
    assert.deepEqual(loaded, []);
    assert.equal(await source.forget(), 7);
    assert.equal(loaded.length, 1);
  });

  test('is loaded at the start for a rule that uses it, unless the rule is disabled', async () => {
    const off = { cacheMode: 'off' } as const;
    const one = { clients: { one: { cacheMode: 'shadow' } } } as const;
    const used = openSource(rulesOf({ rule: off, ...one }));
    await used.source.load();
    assert.equal(used.loaded.length, 1);
    const disabled = openSource(
      rulesOf({ rule: off, clients: { one: { ...one.clients.one, enabled: false } } }),
    );
    await disabled.source.load();
    assert.equal(disabled.loaded.length, 0);
  });

  test('is loaded once, and again for another model', async () => {
    const rules = rulesOf({ clients: { strict: { threshold: 0.9 } } });
    const { source, loaded, found, stopped, follow } = openSource(rules);
    const find = async (client?: string) => {
      const chosen = createRuleBook(() => rules, 'm').choose(client);
      assert.equal(await source.find({ prompt: 'p', chosen, scope: 's' }, never), undefined);
    };
    await Promise.all([find(), find('strict')]);
    assert.equal(loaded.length, 1);
    follow({ ...rules, embeddingModel: 'other-embed' });
    await find();
    const common = { value: 0.7, from: 'CACHE_SIMILARITY_THRESHOLD' };
    assert.deepEqual(found, [
      ['nomic-embed-text', common],
      ['nomic-embed-text', { value: 0.9, from: 'rule' }],
      ['other-embed', common],
    ]);
    assert.equal(loaded.length, 2);
    assert.deepEqual(stopped, ['nomic-embed-text']);
  });
});

/** Improves a prompt in a new process. Returns the modules that the process loaded, and the files it created. */
async function improveApart(ollama: OllamaDouble, rules: object) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-loader-'));
  const rulesFile = join(folder, 'rules.json');
  await writeFile(rulesFile, JSON.stringify(rules));
  const settings = {
    ENHANCEMENT_RULES_CONFIG: rulesFile,
    OLLAMA_HOST: ollama.url,
    OLLAMA_MODEL: 'llama3.2:3b',
  };
  const url = (path: string) => JSON.stringify(pathToFileURL(path).href);
  const script = `
    import { registerHooks } from 'node:module';
    const seen = new Set();
    registerHooks({ resolve(name, context, next) { seen.add(name); return next(name, context); } });
    const { readSettings } = await import(${url('hub/config/index.ts')});
    const { silent, systemClock } = await import(${url('hub/core/index.ts')});
    const { createModelAccess } = await import(${url('hub/app/wire-models.ts')});
    const { createPrompts } = await import(${url('hub/app/wire-prompts.ts')});
    const settings = readSettings(${JSON.stringify(settings)});
    const system = { clock: systemClock, log: silent, random: Math.random };
    const models = createModelAccess(settings, {
      ...system,
      newId: () => 'id',
      config: () => ({}),
      rules: () => prompts.rules.current,
    });
    const prompts = await createPrompts(
      { settings, dataFolder: ${JSON.stringify(folder)} },
      { ...system, models },
    );
    await prompts.start(new AbortController().signal);
    const { source } = await prompts.source.enhance({ prompt: 'list all files' }, AbortSignal.timeout(20_000));
    await prompts.stop();
    const loaded = ['./judge.ts', './semantic.ts', '#vectors', 'node:sqlite'].filter(name => seen.has(name));
    console.log(JSON.stringify([source, ...loaded]));
    process.exit();
  `;
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const files = (await readdir(folder)).filter(name => name.startsWith('semantic'));
  await rm(folder, { recursive: true });
  return { loaded: stdout.trim(), files };
}

test('a hub loads SQLite, Qdrant, embeddings and the judge only for rules that use them', async () => {
  await using ollama = await startOllama({ models: ['llama3.2:3b', 'nomic-embed-text'] });
  const without = await improveApart(ollama, { default: { cache: { mode: 'off' } } });
  assert.deepEqual(without, { loaded: '["model"]', files: [] });
  assert.deepEqual(ollama.received('/api/embed'), []);
  const used = await improveApart(ollama, {});
  assert.equal(used.loaded, '["model","./judge.ts","./semantic.ts","#vectors","node:sqlite"]');
  assert.ok(used.files.includes('semantic.sqlite'));
});
