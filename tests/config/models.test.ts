import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { modelsSchema } from '../../hub/config/models-schema.ts';
import { costOf, readModels } from '../../hub/config/models.ts';

const read = (written: object, env = {}, secrets: Parameters<typeof readModels>[2] = new Map()) =>
  readModels(modelsSchema.parse(written), env, secrets);

test('values that are not in the file have defaults', () => {
  const models = {
    defaultModel: undefined,
    contextTokens: 8192,
    timeoutMs: 600_000,
    silentMs: 120_000,
    providers: {},
  };
  assert.deepEqual(readModels(undefined), { models, problems: [] });
  assert.deepEqual(read({}), { models, problems: [] });
});

test('values of the file are used, with the variables of providers expanded', () => {
  const url = 'https://${HOST}/v1/';
  const written = {
    default: 'work/gpt-x',
    context: 16_384,
    timeout_seconds: 60,
    silence_seconds: 30,
    providers: { work: { url, key: '${secret:WORK_KEY}', context: 32_768, parallel: 2 } },
  };
  const secrets = new Map([['WORK_KEY', { value: 'k' }]]);
  assert.deepEqual(read(written, { HOST: 'api.example.com' }, secrets), {
    models: {
      defaultModel: 'work/gpt-x',
      contextTokens: 16_384,
      timeoutMs: 60_000,
      silentMs: 30_000,
      providers: {
        work: {
          url: 'https://api.example.com/v1',
          key: 'k',
          keyFault: undefined,
          contextTokens: 32_768,
          parallel: 2,
        },
      },
    },
    problems: [],
  });
});

test('a secret that is not set affects only its provider', () => {
  const url = 'http://127.0.0.1:8080/v1';
  const { models, problems } = read({
    providers: { work: { url, key: '${secret:WORK_KEY}' }, local: { url } },
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    [models.providers['work']?.key, models.providers['local']?.key],
    [undefined, undefined],
  );
  assert.match(models.providers['work']?.keyFault ?? '', /^secret WORK_KEY is not set\. Run/);
  assert.equal(models.providers['local']?.keyFault, undefined);
});

describe('an invalid value is refused', () => {
  test.for([
    { context: 100 },
    { default: '' },
    { timeout_seconds: 0 },
    { silence_seconds: 5 },
    { modell: 'x' },
    { providers: { 'a/b': { url: 'http://x' } } },
    { providers: { work: {} } },
  ])('%j', wrong => {
    assert.ok(!modelsSchema.safeParse(wrong).success);
  });

  test.for([
    'ftp://x',
    'api.example.com',
    'https://user:pass@x',
    'https://x/v1?key=1',
    'https://x/#a',
  ])('%s', url => {
    const { problems } = read({ providers: { work: { url } } });
    assert.deepEqual(
      problems.map(({ path, text }) => [path.join('.'), text.slice(0, 17)]),
      [['models.providers.work.url', 'is not a base URL']],
    );
  });

  test('a default without the name of a model', () => {
    const [problem] = read({ default: 'work/' }).problems;
    assert.deepEqual(problem?.path, ['models', 'default']);
  });

  test('a variable that is not set', () => {
    const [problem] = read({ providers: { work: { url: '${NOWHERE}' } } }).problems;
    assert.match(problem?.text ?? '', /the variable NOWHERE is not set/);
  });
});

test.each([
  ['work/gpt-x', 2.25],
  ['work/other', 1.5],
  ['work/constructor', 1.5],
  ['free/gpt-x', 0],
  ['gpt-x', 0],
  ['toString/x', 0],
])('a million input tokens and half a million output tokens of %s cost %d', (model, cost) => {
  const prices = { 'gpt-x': { prompt: 1.25, completion: 2 }, '*': { prompt: 1, completion: 1 } };
  const { models } = read({
    providers: {
      work: { url: 'https://api.example.com', prices },
      free: { url: 'https://free.example.com' },
    },
  });
  assert.equal(costOf(models, model, { prompt: 1_000_000, completion: 500_000 }), cost);
  assert.equal(costOf(undefined, model, { prompt: 1, completion: 1 }), 0);
});
