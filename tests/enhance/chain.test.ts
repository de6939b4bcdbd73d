import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { never } from '#helpers/never';
import { createRecordingLog } from '#helpers/recording-log';
import { type CompletionRequest, type ModelInfo, type Models, ModelFailure } from '#models';
import { type EnhanceProgress, createChain } from '../../hub/enhance/chain.ts';
import { createAbsences } from '../../hub/models/absence.ts';
import { createRuleBook } from '../../hub/enhance/rules.ts';
import { type RulesChanges, rulesOf } from './rules-of.ts';

const infoOf = (name: string, more: Partial<ModelInfo> = {}): ModelInfo => ({
  name,
  digest: `digest of ${name}`,
  sizeBytes: 1,
  isLoaded: true,
  capabilities: ['completion'],
  ...more,
});

/** Answers a request as a model does. */
type Script = (request: CompletionRequest, signal: AbortSignal) => Promise<string> | string;

const broken =
  (...[kind, message]: ConstructorParameters<typeof ModelFailure>): Script =>
  () => {
    throw new ModelFailure(kind, message);
  };

const silentModel: Script = () => new Promise<never>(() => {});

/** Creates a chain of the models `first` and `second`, which are scripts. */
function openChain(
  scripts: { readonly first: Script; readonly second?: Script },
  options: RulesChanges & {
    readonly find?: Models['find'];
    readonly contextSize?: (model: string) => number;
  } = {},
) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const asked: CompletionRequest[] = [];
  const models: Pick<Models, 'find' | 'complete' | 'absence'> = {
    absence: name => createAbsences().of(name),
    find: options.find ?? (async name => infoOf(name)),
    async complete(request, signal) {
      asked.push(request);
      const script = request.model === 'first' ? scripts.first : scripts.second;
      const text = await (script ?? assert.fail('it is not asked'))(request, signal);
      const tokens = { promptTokens: undefined, outputTokens: undefined };
      return {
        text,
        model: request.model,
        digest: `digest of ${request.model}`,
        tookMs: 0,
        ...tokens,
      };
    },
  };
  const rules = rulesOf({
    fallbackChain: scripts.second ? ['second'] : [],
    ...options,
    rule: { model: 'first', firstTokenMs: 1_000, loadMs: 5_000, ...options.rule },
  });
  const contextSize = options.contextSize ?? (() => undefined);
  const chain = createChain({ models, clock, log, contextSize });
  const told: EnhanceProgress[] = [];
  return {
    clock,
    logged,
    asked,
    told,
    chain,
    run: (limitMs = 9_000, signal = never) =>
      chain.run(
        {
          chosen: createRuleBook(() => rules, 'usual').choose('editor'),
          prompt: 'make it good',
          endsAt: clock.monotonic() + limitMs,
          attempts: [],
          tell: progress => told.push(progress),
        },
        signal,
      ),
  };
}

/** Waits until the callbacks of all settled promises have run. */
const settle = () => new Promise(resolve => setImmediate(resolve));

describe('the time of a prompt', () => {
  test('is shared: a model that is not the last gets two thirds', async () => {
    const find = async (name: string) => infoOf(name, { isLoaded: false });
    const scene = openChain({ first: () => 'better', second: silentModel }, { find });
    await scene.run();
    const [first] = scene.asked;
    assert.deepEqual([first?.totalMs, first?.firstTokenMs], [6_000, 5_000]);
  });

  test('is given completely to the last model, with a short time for its first token if it is loaded', async () => {
    const scene = openChain({
      first() {
        scene.clock.advance(3_000);
        throw new ModelFailure('busy', 'busy');
      },
      second: () => 'better',
    });
    await scene.run();
    assert.deepEqual(
      scene.asked.map(({ model, totalMs, firstTokenMs }) => [model, totalMs, firstTokenMs]),
      [
        ['first', 6_000, 1_000],
        ['second', 6_000, 1_000],
      ],
    );
  });

  test('is bounded by settings, which the call names', async () => {
    const asked = async (isLoaded: boolean, limitMs?: number) => {
      const find = async (name: string) => infoOf(name, { isLoaded });
      const scene = openChain({ first: () => 'better' }, { find });
      await scene.run(limitMs);
      return scene.asked[0]?.firstTokenSetting;
    };
    assert.equal(await asked(true), '"timeouts.first_token" of the rules for prompts');
    assert.equal(await asked(false), '"timeouts.load" of the rules for prompts');
    assert.equal(await asked(false, 700), '"timeouts.total" of the rules for prompts');
  });

  test('bounds the time for the first token', async () => {
    const scene = openChain({ first: () => 'better' });
    await scene.run(700);
    assert.equal(scene.asked[0]?.firstTokenMs, 700);
  });

  test('ends a model that ignores its deadline, and the next one is asked', async () => {
    const scene = openChain({ first: silentModel, second: () => 'better' });
    const running = scene.run();
    await settle();
    scene.clock.advance(6_099);
    await settle();
    assert.equal(scene.asked.length, 1);
    scene.clock.advance(1);
    const result = await running;
    assert.ok(result.kind === 'made');
    assert.deepEqual(result.attempts, [
      { model: 'first', kind: 'timeout', message: 'no answer within 6100 ms', tookMs: 6_100 },
    ]);
    assert.equal(scene.clock.waiting, 0);
  });

  test('counts as too short for a model below 250 ms', async () => {
    const scene = openChain({
      first() {
        scene.clock.advance(451);
        throw new ModelFailure('busy', 'busy');
      },
      second: () => 'better',
    });
    const result = await scene.run(700);
    assert.ok(result.kind === 'none');
    assert.equal(result.reason, 'first: busy');
    const none = await scene.run(249);
    assert.ok(none.kind === 'none');
    assert.equal(none.reason, 'no time was left for a model');
  });

  test('is not spent on the list of models beyond 5.5 s; then no model is asked', async () => {
    const find = () => new Promise<never>(() => {});
    const scene = openChain({ first: silentModel, second: silentModel }, { find });
    const running = scene.run();
    scene.clock.advance(5_500);
    const result = await running;
    assert.ok(result.kind === 'none');
    assert.equal(result.reason, 'first: no answer within 5500 ms');
  });
});

describe('a model', () => {
  test.for([
    ['is missing in the list', async () => undefined, 'missing', /"ollama pull first" or POST/],
    [
      'cannot complete',
      async (name: string) => infoOf(name, { capabilities: ['embedding', 'vision'] }),
      'incapable',
      /only: embedding, vision/,
    ],
  ] as const)('that %s is skipped, and the next one is asked', async ([, find, kind, message]) => {
    const second = async (name: string) => (name === 'first' ? await find(name) : infoOf(name));
    const scene = openChain({ first: silentModel, second: () => 'better' }, { find: second });
    const result = await scene.run();
    assert.ok(result.kind === 'made');
    assert.deepEqual(
      result.attempts.map(attempt => [attempt.model, attempt.kind]),
      [['first', kind]],
    );
    assert.match(result.attempts[0]?.message ?? '', message);
    assert.deepEqual(
      scene.told.map(({ step }) => step),
      ['failed', 'model'],
    );
  });

  test('is asked if Ollama does not list the capabilities of models', async () => {
    const find = async (name: string) => infoOf(name, { capabilities: undefined });
    const result = await openChain({ first: () => 'better' }, { find }).run();
    assert.equal(result.kind, 'made');
  });

  const failing: readonly (readonly [string, Script, string, RegExp])[] = [
    ['is busy', broken('busy', 'too many'), 'busy', /^too many$/],
    ['was removed a moment ago', broken('missing', '404'), 'missing', /ollama pull first/],
    [
      'fails for a reason that nobody foresaw',
      () => {
        throw new TypeError('no function');
      },
      'malformed',
      /^no function$/,
    ],
    ['refuses', () => 'I cannot help with that.', 'refusal', /refused/],
    ['writes a page', () => 'word '.repeat(1_000), 'overgrown', /more than the 4000/],
  ];

  test.each(failing)(
    'that %s counts as an attempt, and the next one is asked',
    async (_, first, kind, message) => {
      const scene = openChain({ first, second: () => 'better' });
      const result = await scene.run();
      assert.ok(result.kind === 'made');
      const { prompt, model, digest, isOwn, attempts } = result;
      assert.deepEqual(
        [prompt, model, digest, isOwn],
        ['better', 'second', 'digest of second', false],
      );
      assert.deepEqual([attempts.length, attempts[0]?.kind], [1, kind]);
      assert.match(attempts[0]?.message ?? '', message);
    },
  );

  test('ends the chain if its breaker is open or Ollama cannot list it', async () => {
    const open = broken('breaker_open', 'tried again in 5 s');
    const refused = await openChain({ first: open, second: () => 'better' }).run();
    const find = async () => {
      throw new ModelFailure('unreachable', 'no connection');
    };
    const unlisted = await openChain({ first: silentModel, second: silentModel }, { find }).run();
    for (const result of [refused, unlisted]) {
      assert.ok(result.kind === 'none');
      assert.equal(result.attempts.length, 1);
    }
  });

  test('reports its text while it writes', async () => {
    const scene = openChain({
      first({ progress }) {
        progress?.('bet');
        progress?.('ter');
        return 'better';
      },
    });
    await scene.run();
    assert.deepEqual(scene.told, [
      { step: 'model', model: 'first' },
      { step: 'text', model: 'first', text: 'bet' },
      { step: 'text', model: 'first', text: 'ter' },
    ]);
  });
});

test('a caller that aborts ends the model, and no other one is asked', async () => {
  const leaving = new AbortController();
  let ended: unknown;
  const scene = openChain({
    first(_, signal) {
      signal.addEventListener('abort', () => (ended = signal.reason));
      return new Promise<never>(() => {});
    },
    second: () => 'better',
  });
  const running = scene.run(9_000, leaving.signal);
  await settle();
  const gone = new Error('gone');
  leaving.abort(gone);
  await assert.rejects(running, gone);
  assert.equal(ended, gone);
  assert.equal(scene.asked.length, 1);
});

test('the first prompt that no model answers is logged, and the first answer after it', async () => {
  let isBusy = true;
  const scene = openChain({
    first() {
      if (isBusy) throw new ModelFailure('busy', 'too many');
      return 'better';
    },
  });
  let read = 0;
  const messages = () => {
    const lines = scene.logged.slice(read).map(({ level, message }) => `${level} ${message}`);
    read = scene.logged.length;
    return lines.filter(line => line !== 'info a model gave no prompt');
  };
  await scene.run();
  scene.chain.logSilence('the breaker is open', []);
  assert.deepEqual(messages(), ['warn no model answers: prompts are returned unchanged']);
  isBusy = false;
  for (const _ of [1, 2]) await scene.run();
  assert.deepEqual(messages(), ['info prompts are improved again']);
  isBusy = true;
  await scene.run();
  assert.deepEqual(messages(), ['warn no model answers: prompts are returned unchanged']);
});

test('all calls of a prompt have one caller, the client, and the num_ctx of their model', async () => {
  const found: unknown[] = [];
  const scene = openChain(
    { first: broken('busy', 'too many'), second: () => 'better' },
    {
      find: async (name, _signal, caller) => {
        found.push(caller);
        return infoOf(name);
      },
      contextSize: model => (model === 'first' ? 4096 : 16_384),
    },
  );
  await scene.run();
  const callers = scene.asked.map(({ caller }) => caller);
  assert.deepEqual(callers[0], { client: 'editor' });
  assert.equal(new Set([...callers, ...found]).size, 1);
  assert.deepEqual(
    scene.asked.map(({ options }) => options['num_ctx']),
    [4096, 16_384],
  );
  await scene.run();
  assert.notEqual(scene.asked.at(-1)?.caller, callers[0]);
});

test('a prompt that only waited in the queue does not count as one that no model answers', async () => {
  const scene = openChain({ first: broken('queue', 'it waited 9 s for 5 prompts before it') });
  const result = await scene.run();
  assert.ok(result.kind === 'none');
  assert.equal(result.reason, 'first: it waited 9 s for 5 prompts before it');
  assert.deepEqual(
    scene.logged.map(({ message }) => message),
    ['a model gave no prompt'],
  );
});
