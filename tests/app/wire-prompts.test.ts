import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'vitest';
import { readSettings } from '#config';
import { isObject, systemClock } from '#core';
import { createRecordingLog, until } from '#helpers/hub';
import { createModelAccess } from '../../hub/app/wire-models.ts';
import { createPrompts } from '../../hub/app/wire-prompts.ts';
import { promptParts } from '../../hub/http/routes/health.ts';
import { type OllamaDouble, improvedOf, startOllama } from '../doubles/ollama.ts';
import { askedOf, never } from '../enhance/enhancer-scene.ts';

const improved = improvedOf('p');
const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

/** Opens the prompts of a hub as the app does, with rules in a file. */
async function open(rules: object, environment: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-prompts-'));
  const rulesFile = join(folder, 'rules.json');
  const write = (content: object) => writeFile(rulesFile, JSON.stringify(content));
  await write(rules);
  const settings = readSettings({
    ENHANCEMENT_RULES_CONFIG: rulesFile,
    OLLAMA_MODEL: 'llama3.2:3b',
    ...environment,
  });
  const { log, logged } = createRecordingLog();
  const system = { clock: systemClock, log, random: Math.random };
  const models = createModelAccess(settings, {
    ...system,
    newId: () => 'id',
    config: () => ({}),
    rules: () => prompts.rules.current,
  });
  const prompts = await createPrompts({ settings, dataFolder: folder }, { ...system, models });
  await prompts.start(never);
  opened.push({
    async [Symbol.asyncDispose]() {
      await prompts.stop();
      await models.stop();
      await rm(folder, { recursive: true });
    },
  });
  return {
    ...prompts,
    logged,
    async follow(content: object) {
      await write(content);
      assert.equal(await prompts.rules.reload(), undefined);
    },
    enhance: (prompt: string, client?: string) => prompts.source.enhance({ prompt, client }, never),
  };
}

async function openOllama(...given: Parameters<typeof startOllama>): Promise<OllamaDouble> {
  const ollama = await startOllama(...given);
  opened.push(ollama);
  return ollama;
}

describe('better prompts are offered', () => {
  test('while there is an Ollama and a rule that is on, and clients learn when that changes', async () => {
    const { url } = await openOllama();
    const off = { default: { enabled: false } };
    const hub = await open(off, { OLLAMA_HOST: url });
    const heard: boolean[] = [];
    hub.source.changed(() => heard.push(hub.source.isOffered));
    assert.equal(hub.source.isOffered, false);
    await hub.follow({ ...off, clients: { editor: { enabled: true } } });
    await hub.follow({ ...off, clients: { other: { enabled: true } } });
    await hub.follow(off);
    assert.deepEqual(heard, [true, false]);
    assert.equal((await open({}, {})).source.isOffered, false);
  });

  test('by the rule for the client name in the request; an invalid name gets the default', async () => {
    const { url } = await openOllama();
    const hub = await open({ clients: { editor: {} } }, { OLLAMA_HOST: url });
    const rules = [];
    for (const client of [' Editor', 'unknown', '!', undefined]) {
      const { prompt, client: name, rule } = await hub.enhance('p', client);
      assert.equal(prompt, improved);
      rules.push([name, rule]);
    }
    assert.deepEqual(rules, [
      ['editor', 'editor'],
      ['unknown', 'default'],
      ['default', 'default'],
      ['default', 'default'],
    ]);
  });
});

describe('calls are inspected', () => {
  test('only where a rule that is on names a tool or a prompt, and there is an Ollama', async () => {
    const { url } = await openOllama();
    const names = { tools: { notes_ask: ['question'] }, prompts: ['notes_review'] };
    const rules = { default: names, clients: { off: { enabled: false }, none: { tools: {} } } };
    const hub = await open(rules, { OLLAMA_HOST: url });
    const { named } = hub.source;
    assert.deepEqual(
      [undefined, 'any', 'off', 'None'].map(client => named?.argumentsOf('notes_ask', client)),
      [['question'], ['question'], undefined, undefined],
    );
    assert.equal(named?.argumentsOf('constructor', undefined), undefined);
    assert.deepEqual(
      ['any', 'off', 'none'].map(client => named?.improves('notes_review', client)),
      [true, false, true],
    );
    assert.equal(named?.improves('notes_other', 'any'), false);
    await hub.follow({ clients: { off: { enabled: false, ...names } } });
    assert.equal(hub.source.named, undefined);
    await hub.follow(rules);
    assert.ok(hub.source.named);
    assert.equal((await open(rules, {})).source.named, undefined);
  });
});

describe('rules that are reloaded', () => {
  test('change the embedding model and the judge', async () => {
    const ollama = await openOllama({
      models: ['llama3.2:3b', 'nomic-embed-text', 'other-embed'],
    });
    const hub = await open({ judge_model: 'judge:1' }, { OLLAMA_HOST: ollama.url });
    const semantic = async () => {
      const { enhancer } = await hub.open();
      return (await enhancer.stats()).semantic;
    };
    const embedders = () => [
      ...new Set(ollama.received('/api/embed').map(({ body }) => String(body['model']))),
    ];
    await hub.enhance('make a list of all files');
    await until(() => ollama.received('/api/embed').length > 0);
    assert.deepEqual(embedders(), ['nomic-embed-text:latest']);
    assert.deepEqual(
      [(await semantic())?.model, (await semantic())?.judge],
      ['nomic-embed-text', 'judge:1'],
    );
    await hub.follow({ embedding_model: 'other-embed' });
    assert.deepEqual(
      [(await semantic())?.model, (await semantic())?.judge],
      ['other-embed', undefined],
    );
    await hub.enhance('make a list of all folders');
    assert.deepEqual(embedders(), ['nomic-embed-text:latest', 'other-embed:latest']);
  });
});

describe('OLLAMA_PULL', () => {
  test('fetches the models of the rules while prompts pass unchanged, and /health shows the progress', async () => {
    const ollama = await openOllama({
      models: [],
      pullable: ['llama3.2:3b', 'nomic-embed-text', 'phi3:mini'],
    });
    const held = Promise.withResolvers<void>();
    ollama.fails(
      '/api/pull',
      { kind: 'paced', before: async line => void (line === 3 && (await held.promise)) },
      1,
    );
    const rules = { fallback_chain: ['phi3:mini', null] };
    const hub = await open(rules, { OLLAMA_HOST: ollama.url, OLLAMA_PULL: 'true' });
    const part = async () => (await promptParts(hub.health)).parts['ollama'];
    let seen: unknown;
    await until(() => {
      void part().then(found => (seen = found));
      return isObject(seen) && isObject(seen['fetching']) && 'completed_bytes' in seen['fetching'];
    });
    assert.ok(isObject(seen));
    assert.deepEqual(seen['missing_models'], [
      {
        model: 'llama3.2:3b',
        use: 'rule',
        message: 'The model llama3.2:3b is missing. It is being pulled: 49 % of 2 GB',
        is_pulled: true,
      },
      {
        model: 'nomic-embed-text',
        use: 'embedding',
        message: 'The embedding model nomic-embed-text is missing. The hub will pull it',
        is_pulled: true,
      },
      {
        model: 'phi3:mini',
        use: 'fallback',
        message: 'The fallback model phi3:mini is missing. The hub will pull it',
        is_pulled: true,
      },
    ]);
    assert.match(
      (await hub.enhance('p')).reason ?? '',
      /does not have it\. It is being pulled: 49 %/,
    );
    assert.ok(isObject(seen['fetching']));
    const { status, ...progress } = seen['fetching'];
    assert.match(String(status), /^pulling /);
    assert.deepEqual(progress, {
      model: 'llama3.2:3b',
      completed_bytes: 1_009_696_594,
      total_bytes: 2_019_393_189,
    });
    assert.equal(seen['state'], 'degraded');
    held.resolve();
    await until(() => ollama.received('/api/pull').length === 3);
    await until(() => {
      void part().then(found => (seen = found));
      return isObject(seen) && !('missing_models' in seen);
    });
    assert.equal((await hub.enhance('p')).source, 'model');
    await hub.follow({ default: { model: 'nowhere:1' } });
    await until(() => ollama.received('/api/pull').length === 4);
  });

  test('must be set for models to be fetched', async () => {
    const ollama = await openOllama({ models: [], pullable: ['llama3.2:3b'] });
    const hub = await open({}, { OLLAMA_HOST: ollama.url });
    const { enhanced, reason } = await hub.enhance('p');
    assert.equal(enhanced, false);
    assert.match(String(reason), /ollama pull llama3.2:3b/);
    assert.deepEqual(ollama.received('/api/pull'), []);
    assert.deepEqual(askedOf(ollama), []);
  });
});

test('a hub that has stopped does not load the prompt enhancement for a late request', async () => {
  const hub = await open({}, {});
  await hub.stop();
  await assert.rejects(hub.open(), { code: 'HUB_SHUTTING_DOWN', message: 'the hub is stopping' });
  assert.equal(hub.health.loaded(), undefined);
});

test('CACHE_MAX_BYTES bounds the cache', async () => {
  const ollama = await openOllama();
  ollama.says('x'.repeat(3_000));
  const hub = await open(
    { default: { cache: { mode: 'off' } } },
    { OLLAMA_HOST: ollama.url, CACHE_MAX_BYTES: '1048576' },
  );
  const { enhancer } = await hub.open();
  const { exact } = await enhancer.stats();
  assert.equal(exact.maxBytes, 1_048_576);
});
