import assert from 'node:assert/strict';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import {
  type EnhancementRules,
  defaultRules,
  modelsOf,
  openRules,
  readRules,
  ruleKeyOf,
  ruleOf,
  rulesSchemaJson,
} from '#config';
import { HubError, isObject, systemClock } from '#core';
import { createRecordingLog, until } from '#helpers/hub';
import { temporary } from './editing.ts';

const configs = join(import.meta.dirname, '../../configs');

/** Parses a text as a file of rules with this name. */
const read = (text: string, file = 'rules.json') => readRules(file, { readText: async () => text });

async function need(text: string): Promise<EnhancementRules> {
  const { rules, error } = await read(text);
  return rules ?? assert.fail(error?.message);
}

/** Returns the problems of a text, one per line. */
async function problemsIn(text: string): Promise<readonly string[]> {
  const { error } = await read(text);
  assert.ok(error, 'it is valid');
  assert.equal(error.code, 'HUB_CONFIG_INVALID');
  return error.message.split('\n');
}

describe('the shipped rules', () => {
  test('are those of the specification', async () => {
    const { rules, error } = await readRules(join(configs, 'enhancement-rules.default.json'));
    assert.ok(rules, error?.message);
    assert.deepEqual(
      [...rules.clients].map(([name, { model }]) => [name, model]),
      [
        ['claude-desktop', 'deepseek-r1:14b'],
        ['vscode', 'qwen2.5-coder:7b'],
        ['raycast', 'llama3.2:3b'],
        ['obsidian', 'llama3.2:3b'],
      ],
    );
    assert.equal(rules.default.model, 'llama3.2:3b');
    assert.deepEqual(rules.fallbackChain, ['phi3:mini']);
    const systemPromptOf = (client: string) => rules.clients.get(client)?.systemPrompt ?? '';
    assert.match(systemPromptOf('claude-desktop'), /structured reasoning.*Markdown/);
    assert.match(systemPromptOf('vscode'), /code first.*paths.*little prose/is);
    assert.match(systemPromptOf('raycast'), /action.*commands.*under 200 words/s);
    assert.match(systemPromptOf('obsidian'), /Markdown.*\[\[wikilinks\]\].*#tags/s);
    assert.match(rules.default.systemPrompt, /clear and well structured/);
    for (const { enabled } of [rules.default, ...rules.clients.values()])
      assert.equal(enabled, true);
  });

  test('name their schema, which is generated from the code', async () => {
    const file = join(configs, 'enhancement-rules.schema.json');
    assert.equal(await readFile(file, 'utf8'), rulesSchemaJson());
    const rules = await readFile(join(configs, 'enhancement-rules.default.json'), 'utf8');
    assert.match(rules, /"\$schema": "\.\/enhancement-rules\.schema\.json"/);
  });

  test('every key of the schema has a description', () => {
    const bare: string[] = [];
    const look = (schema: unknown, path: string) => {
      if (!isObject(schema)) return;
      for (const [name, value] of Object.entries(schema)) {
        if (name === 'properties' && isObject(value))
          for (const [key, property] of Object.entries(value))
            if (!isObject(property) || !property['description']) bare.push(`${path}/${key}`);
        for (const inside of Array.isArray(value) ? value : [value])
          look(inside, `${path}/${name}`);
      }
    };
    look(JSON.parse(rulesSchemaJson()), '');
    assert.deepEqual(bare, []);
  });
});

describe('a rules file', () => {
  test('that is empty has the built-in rule for all', async () => {
    assert.deepEqual(await need('{}'), defaultRules);
    assert.equal(defaultRules.default.model, undefined);
    assert.equal(defaultRules.default.cacheMode, 'guarded');
  });

  test('inherits "default" for a client whose rule omits a key', async () => {
    const rules = await need(`{
      // Comments and trailing commas are allowed.
      "default": {
        "model": "base:1", "system_prompt": "Improve it.", "enabled": false,
        "options": {"num_ctx": 4096, "seed": 7}, "timeouts": {"total": 12},
        "cache": {"mode": "shadow", "ttl": 60},
        "tools": {"notes_search": ["query"]}, "prompts": ["notes_review"],
      },
      "clients": {"Editor": {"enabled": true, "options": {"temperature": 0}, "cache": {"mode": "off"}}},
    }`);
    assert.deepEqual(rules.clients.get('editor'), {
      enabled: true,
      model: 'base:1',
      systemPrompt: 'Improve it.',
      options: { temperature: 0, num_ctx: 4096, num_predict: 2048, think: false, seed: 7 },
      totalMs: 12_000,
      firstTokenMs: 10_000,
      loadMs: 20_000,
      cacheMode: 'off',
      threshold: undefined,
      ttlMs: 60_000,
      maxGrowth: 8,
      tools: { notes_search: ['query'] },
      prompts: ['notes_review'],
    });
    assert.equal(rules.default.enabled, false);
    assert.equal(rules.default.cacheMode, 'shadow');
  });

  test('applies to a client by the name that it sends, and by its product name', async () => {
    const rules = await need(
      '{"clients": {"claude-desktop": {"model": "a:1"}, "VSCode": {"model": "b:1"}, "Cursor": {"model": "c:1"}, "cursor-vscode": {"model": "d:1"}}}',
    );
    const modelOf = (client: string) => ruleOf(rules, client).model;
    assert.deepEqual(
      [
        'claude-ai',
        'Claude Desktop',
        'Visual Studio Code',
        'vscode',
        'cursor-vscode',
        'CURSOR',
      ].map(modelOf),
      ['a:1', 'a:1', 'b:1', 'b:1', 'd:1', 'c:1'],
    );
    assert.equal(ruleOf(rules, 'another'), rules.default);
    assert.equal(ruleOf(rules, undefined), rules.default);
    assert.equal(ruleKeyOf(rules, 'claude-ai'), 'claude-desktop');
    assert.equal(ruleKeyOf(rules, 'another'), undefined);
  });

  test('may end its chain with null, or start with it', async () => {
    assert.deepEqual((await need('{"fallback_chain": ["a", "b", null]}')).fallbackChain, [
      'a',
      'b',
    ]);
    assert.deepEqual((await need('{"fallback_chain": [null]}')).fallbackChain, []);
    assert.deepEqual((await need('{"fallback_chain": ["a"]}')).fallbackChain, ['a']);
  });

  test('may be YAML', async () => {
    const { rules } = await read(
      'default:\n  model: a:1\nfallback_chain: [b, null]\n',
      'rules.yaml',
    );
    assert.equal(rules?.default.model, 'a:1');
  });

  test.each([
    [
      '{"default": {"modell": "a"}}',
      'rules.json:1:14: default.modell: unknown key. Did you mean "model"?',
    ],
    [
      '{"clients": {"x": {"cache": {"modes": "off"}}}}',
      'rules.json:1:30: clients.x.cache.modes: unknown key. Did you mean "mode"?',
    ],
    [
      '{"default": {"fallback_chain": []}}',
      'rules.json:1:14: default.fallback_chain: unknown key. Remove it; the nearest of 9 allowed keys are cache, max_growth, enabled ("agenthub schema --rules" has all)',
    ],
    [
      '{"default": {"model": 3}}',
      'rules.json:1:14: default.model: 3 is not allowed: write a string, in quotes',
    ],
    [
      '{"default": {"model": "a b"}}',
      'rules.json:1:14: default.model: "a b" is not allowed: write the name of a model such as "llama3.2:3b"',
    ],
    [
      '{"default": {"enabled": "yes"}}',
      'rules.json:1:14: default.enabled: "yes" is not allowed: write true or false',
    ],
    [
      '{"default": {"timeouts": {"total": 0}}}',
      'rules.json:1:27: default.timeouts.total: 0 is not allowed: write a number of seconds from 1 to 600',
    ],
    [
      '{"default": {"cache": {"mode": "on"}}}',
      'rules.json:1:24: default.cache.mode: "on" is not allowed: write "off" or "shadow" or "guarded" or "verified" or "threshold"',
    ],
    [
      '{"fallback_chain": ["a", null, "b"]}',
      'rules.json:1:26: fallback_chain[1]: null ends the chain, so the models after it are never tried: write it last',
    ],
    [
      '{"fallback_chain": "a"}',
      'rules.json:1:2: fallback_chain: "a" is not allowed: write a list: [...]',
    ],
    [
      '{"clients": {"default": {}}}',
      'rules.json:1:14: clients.default: is the rule for all other clients: write it as "default", next to "clients"',
    ],
    [
      '{"clients": {"a": {}, "A": {}}}',
      'rules.json:1:23: clients.A: is the same client as "a": remove one of them',
    ],
    [
      '{"clients": {"__proto__": {}}}',
      'rules.json:1:14: clients.__proto__: the name of a client has 1 to 64 letters, digits, spaces and "_.@/+-", and starts with a letter or digit',
    ],
    [
      '{"default": {}, "default": {}}',
      'rules.json:1:17: default: "default" appears twice, first on line 1: rename or remove one',
    ],
    ['', 'rules.json:1:1: the file is empty: write {"default": {}}'],
    ['{"default": {"model": "a"}', 'rules.json:1:27: not valid JSON: a "}" is missing before this'],
  ])('%s is refused with its path and a remedy', async (text, problem) => {
    assert.deepEqual(await problemsIn(text), [problem]);
  });

  test('reports all problems at once', async () => {
    const problems = await problemsIn(
      '{\n"default": {"model": 1},\n"clients": {"x": {"enabled": 0}}\n}',
    );
    assert.deepEqual(
      problems.map(problem => problem.split(': ')[1]),
      ['default.model', 'clients.x.enabled'],
    );
  });

  test('that does not exist, or has an unknown extension, is refused with a remedy', async () => {
    const { error } = await readRules('/nonexistent/rules.json');
    assert.equal(error?.code, 'HUB_CONFIG_MISSING');
    assert.match(error.message, /^\/nonexistent\/rules\.json: .*ENHANCEMENT_RULES_CONFIG/);
    assert.match((await read('{}', 'rules.txt')).error?.message ?? '', /must end in \.json/);
  });
});

const rulesOf = (model: string) => JSON.stringify({ default: { model } });

/** Watches the rules of a real file, with the real clock. */
async function watching(text: string | undefined, isRequired = true) {
  const folder = await temporary();
  const file = join(folder.path, 'rules.json');
  if (text !== undefined) await writeFile(file, text);
  const { log, logged } = createRecordingLog();
  const opening = openRules(
    { file, isRequired, quietMs: 20, shorterQuietMs: 20, pollMs: 200 },
    { clock: systemClock, log },
  );
  const source = await opening.catch(async (error: unknown) => {
    await folder[Symbol.asyncDispose]();
    throw error;
  });
  await source.start(AbortSignal.timeout(30_000));
  const fired: (string | undefined)[] = [];
  source.changed(({ default: { model } }) => fired.push(model));
  return {
    file,
    source,
    fired,
    model: () => source.current.default.model,
    said: () => logged.map(({ message }) => message),
    async [Symbol.asyncDispose]() {
      await source.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe('rules in force', () => {
  test('are those of the file once it has changed', async () => {
    await using hub = await watching(rulesOf('a'));
    assert.equal(hub.model(), 'a');
    await writeFile(hub.file, rulesOf('b'));
    await until(() => hub.model() === 'b');
    // Editors save by renaming a new file to the old name.
    await writeFile(`${hub.file}.new`, rulesOf('c'));
    await rename(`${hub.file}.new`, hub.file);
    await until(() => hub.model() === 'c');
    assert.deepEqual(hub.fired, ['b', 'c']);
  });

  test('stay the last valid ones while the file is invalid or gone, with one message', async () => {
    await using hub = await watching(rulesOf('a'));
    await writeFile(hub.file, '{"default": {"modle": "b"}}');
    await until(() => hub.source.status.error !== undefined);
    assert.equal(hub.model(), 'a');
    assert.match(hub.source.status.error?.message ?? '', /default\.modle: unknown key/);
    assert.equal((await hub.source.reload())?.code, 'HUB_CONFIG_INVALID');
    const told = hub.said().filter(message => message.includes('the last valid ones stay'));
    assert.equal(told.length, 1);
    await rm(hub.file);
    await until(() => /no such file/.test(hub.source.status.error?.message ?? ''));
    assert.equal(hub.model(), 'a');
    await writeFile(hub.file, rulesOf('c'));
    await until(() => hub.model() === 'c');
    assert.equal(hub.source.status.error, undefined);
    assert.deepEqual(hub.fired, ['c']);
  });

  test('are the built-in ones if no file is named, until the default file exists', async () => {
    await using hub = await watching(undefined, false);
    assert.equal(hub.source.current, defaultRules);
    assert.equal(hub.source.status.from, 'built_in');
    assert.equal(await hub.source.reload(), undefined);
    assert.equal(hub.source.status.error, undefined);
    await writeFile(hub.file, '{"default":');
    await until(() => hub.source.status.error !== undefined);
    await rm(hub.file);
    await until(() => hub.source.status.error === undefined);
    assert.equal(hub.source.current, defaultRules);
    await writeFile(hub.file, rulesOf('a'));
    await until(() => hub.model() === 'a');
    assert.equal(hub.source.status.from, 'file');
  });

  test('fail to load if the named file is absent or invalid', async () => {
    await assert.rejects(
      watching(undefined),
      error => error instanceof HubError && error.code === 'HUB_CONFIG_MISSING',
    );
    for (const isRequired of [true, false])
      await assert.rejects(
        watching('{"defaults": {}}', isRequired),
        error => error instanceof HubError && error.code === 'HUB_CONFIG_INVALID',
      );
  });

  test('do not change after a reload without a change', async () => {
    await using hub = await watching(rulesOf('a'));
    assert.equal(await hub.source.reload(), undefined);
    assert.deepEqual(hub.fired, []);
  });
});

test('each model of the rules has its most important use', async () => {
  const named = async (rules: object) =>
    modelsOf(await need(JSON.stringify(rules)), 'usual').map(({ model, use }) => `${use} ${model}`);
  assert.deepEqual(await named({}), ['rule usual', 'embedding nomic-embed-text']);
  assert.deepEqual(await named({ default: { enabled: false } }), []);
  const rules = {
    default: { model: 'first' },
    clients: { editor: { model: 'second' }, other: { model: 'third', enabled: false } },
    embedding_model: 'embedder',
    judge_model: 'first',
    fallback_chain: ['second', 'last'],
  };
  const all = ['rule first', 'embedding embedder', 'rule second', 'fallback last'];
  assert.deepEqual(await named(rules), all);
  const off = { ...rules, default: { model: 'first', cache: { mode: 'off' } } };
  assert.deepEqual(await named(off), ['rule first', 'rule second', 'fallback last']);
});
