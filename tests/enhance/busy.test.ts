import assert from 'node:assert/strict';
import { Ollama } from 'ollama';
import { describe, test, vi } from 'vitest';
import { defaultRules } from '#config';
import { isObject, systemClock } from '#core';
import { type Enhancement, contextSizeOf } from '#enhance';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { never } from '#helpers/never';
import { createJudge } from '../../hub/enhance/judge.ts';
import { until } from '../contracts/recorder.ts';
import type { Asked, RunnerTimes } from '../doubles/ollama.ts';
import { type Scene, askedOf, openScene } from './enhancer-scene.ts';
import { type RulesChanges, rulesOf } from './rules-of.ts';

const clients = ['ash', 'birch', 'cedar', 'elm', 'fir', 'hazel', 'larch', 'maple'];
const subjects = ['the kitchen', 'the garden', 'the cellar', 'the attic'];
const model = 'llama3.2:3b';
/** Time that the model takes for each line of its answer, in ms. An answer has eight lines, so it takes 2 s. */
const stepMs = 250;
const answer = (asked: Asked): string => {
  const [, subject = ''] = /describe (the [a-z]+(?: of [a-z]+)?)/.exec(promptOf(asked)) ?? [];
  return `Please describe ${subject} clearly.`;
};
const promptOf = ({ messages }: Asked): string => {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  return isObject(last) ? String(last['content']) : '';
};

type Done = Enhancement & { readonly client: string };

/** Sends all prompts of all clients at once. `done` lists the results in the order of their arrival. */
function sendAll({ enhancer }: Pick<Scene, 'enhancer'>) {
  const done: Done[] = [];
  const all = clients.flatMap(client =>
    subjects.map(async subject => {
      const prompt = `describe ${subject} of ${client}`;
      done.push({ ...(await enhancer.enhance({ prompt, client }, never)), client });
    }),
  );
  return { done, all: Promise.all(all) };
}

async function openBusy(
  changes: RulesChanges['rule'],
  times: Partial<RunnerTimes> = {},
  others: RulesChanges['clients'] = {},
) {
  const clock = createManualClock();
  const rule = { firstTokenMs: 10_000, loadMs: 20_000, ...changes };
  const scene = await openScene({
    clock,
    ollama: { times: { clock, lineMs: stepMs, ...times } },
    rule,
    clients: others,
    failureThreshold: 3,
  });
  scene.ollama.says(answer);
  await scene.models.start(never);
  await until(() => scene.models.status.kind === 'up', 'a sign of life');
  return Object.assign(scene, { clock, rule });
}

/** Advances the clock whenever the model works, until the condition holds. */
async function work(
  scene: Pick<Scene, 'ollama' | 'questions'> & { readonly clock: ManualClock },
  isDone: () => boolean,
): Promise<void> {
  const { ollama, clock } = scene;
  for (let seen = 0; !isDone();) {
    // Answering a question takes real time, which must not count on this clock.
    await until(() => isDone() || (ollama.works > seen && scene.questions === 0), 'work');
    seen = ollama.works;
    // Two half steps, because a prompt that will be late is returned 250 ms before its time is over.
    for (const _ of [1, 2]) {
      clock.advance(stepMs / 2);
      await new Promise(resolve => setImmediate(resolve));
    }
  }
}

const allQueued = ({ models }: Pick<Scene, 'models'>) =>
  until(() => models.metrics().queues[0]?.waiting === 31, '31 prompts in the queue');

/** Fails unless each round contains at most one prompt of each client. */
function assertFair(order: readonly string[]): void {
  for (let round = 0; round < order.length; round += clients.length) {
    const served = order.slice(round, round + clients.length);
    assert.equal(new Set(served).size, served.length, `unfair: ${order.join(' ')}`);
  }
}

describe('8 clients with 4 prompts each, at once, on a model that takes 2 s for each', () => {
  test('all get improved prompts, in turns, if there is time for all', async () => {
    const scene = await openBusy({ totalMs: 90_000 });
    await using _stack = scene;
    const { done, all } = sendAll(scene);
    await allQueued(scene);
    await work(scene, () => done.length === 32);
    await all;
    assert.deepEqual([...new Set(done.map(({ source }) => source))], ['model']);
    assertFair(done.map(({ client }) => client));
    assert.equal(scene.clock.monotonic(), 64_000);
    assert.equal(scene.breaker.snapshot().failures, 0);
    const [counts] = scene.models.metrics().models;
    assert.deepEqual([counts?.callers[0]?.succeeded, counts?.failures], [32, {}]);
    const { count, totalMs } = counts?.waits ?? {};
    assert.deepEqual([count, totalMs], [32, (31 * 32 * 2_000) / 2]);
  });

  test('get as many improved prompts as time allows, and otherwise their prompt with the true reason', async () => {
    const scene = await openBusy({ totalMs: 30_000 });
    await using _stack = scene;
    const { done, all } = sendAll(scene);
    await allQueued(scene);
    await work(scene, () => done.length === 32);
    await all;
    const improved = done.filter(({ enhanced }) => enhanced);
    assert.equal(improved.length, 14);
    assertFair(improved.map(({ client }) => client));
    const others = done.filter(({ enhanced }) => !enhanced);
    for (const { reason, tookMs, attempts } of others) {
      assert.match(
        reason ?? '',
        /^llama3\.2:3b(?:: it waited 29\.8 s for 15 prompts before it| was not done within 29\.8 s: it waited 28 s for 14 prompts before it)$/,
      );
      assert.ok(tookMs <= 30_000);
      assert.equal(attempts.length, 1);
    }
    assert.equal(askedOf(scene.ollama).length, 15);
    assert.deepEqual(scene.models.metrics().queues, []);
    assert.equal(scene.breaker.snapshot().failures, 0);
  });

  test('get improved prompts again after Ollama was killed meanwhile and restarted', async () => {
    const scene = await openBusy({ totalMs: 90_000 });
    await using _stack = scene;
    const { done, all } = sendAll(scene);
    await allQueued(scene);
    await work(scene, () => done.length === 5);
    await scene.ollama.stop();
    // The other prompts return at once: three failures open the breaker, which refuses the rest.
    await all;
    const lost = done.slice(5);
    assert.ok(lost.every(({ source }) => source === 'unchanged'));
    const kinds = lost.map(({ attempts }) => attempts[0]?.kind);
    assert.ok(kinds.every(kind => kind && ['cut', 'unreachable', 'breaker_open'].includes(kind)));
    assert.equal(kinds.filter(kind => kind === 'breaker_open').length, 24);
    const isOpen = () => scene.breaker.state === 'open';
    assert.ok(isOpen());
    await scene.ollama.start();
    const backMs = scene.clock.monotonic();
    // The first probe may have begun before Ollama was back, and then takes its whole time.
    while (isOpen()) {
      scene.clock.advance(2_000);
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    assert.ok(scene.clock.monotonic() - backMs < 30_000, 'before the pause of the breaker is over');
    const again = sendAll(scene);
    await work(scene, () => again.done.length === 32);
    const counts = Object.groupBy(again.done, ({ source }) => source);
    assert.deepEqual([counts.l1?.length, counts.model?.length], [5, 27]);
  });
});

test('the judge and the rewrite of one model never make Ollama reload it', async () => {
  const scene = await openBusy({ totalMs: 90_000 });
  await using _stack = scene;
  const rules = rulesOf({ rule: scene.rule });
  const contextSize = (model: string) => contextSizeOf(model, rules, 'usual');
  const judge = createJudge({ model, contextSize }, scene);
  await scene.enhancer.start(never);
  for (const subject of subjects) {
    const judged = judge.ask(subject, 'the shed', never);
    const enhanced = scene.enhance(`describe ${subject}`);
    let isDone = false;
    const both = Promise.all([judged, enhanced]).finally(() => (isDone = true));
    await work(scene, () => isDone);
    await both;
  }
  assert.equal(scene.ollama.loads, 1);
});

test('calls are grouped by model if Ollama holds only one in memory', async () => {
  const scene = await openBusy(
    { totalMs: 300_000 },
    { maxLoaded: 1, loadMs: stepMs },
    { birch: { model: 'phi3:mini' } },
  );
  await using _stack = scene;
  let done = 0;
  const all = Promise.all(
    subjects.flatMap(subject =>
      ['ash', 'birch'].map(async client => {
        const { source } = await scene.enhance(`describe ${subject}`, { client });
        assert.equal(source, 'model');
        done++;
      }),
    ),
  );
  await work(scene, () => done === 8);
  await all;
  // The hub learns that Ollama holds only one model when it first changes the model, with the next calls under way.
  assert.ok(scene.ollama.loads <= 5, `${scene.ollama.loads} loads for 8 prompts`);
});

const url = process.env['OLLAMA_URL'];

/** Opens an enhancer over the Ollama at OLLAMA_URL, with one of its models. */
async function openReal() {
  const clock = systemClock;
  await using probe = await openScene({ url, clock });
  const models = await probe.models.list(never);
  const infos = await Promise.all(models.map(({ name }) => probe.models.find(name, never)));
  const chatter = infos.find(info => info?.capabilities?.includes('completion'))?.name;
  assert.ok(chatter !== undefined, 'it needs a model that completes');
  const rule = {
    model: chatter,
    totalMs: 30_000,
    firstTokenMs: 10_000,
    loadMs: 20_000,
    options: { ...defaultRules.default.options, num_predict: 64 },
  };
  const scene = await openScene({ url, clock, failureThreshold: 3, rule });
  await scene.models.start(never);
  return { ...scene, clock, rule, chatter };
}

/** Returns the size of the context with which Ollama holds a model in memory; undefined if the model is not loaded. */
async function contextIn(chatter: string): Promise<unknown> {
  const { models } = await new Ollama({ host: url ?? '' }).ps();
  const found: object = models.find(({ name }) => name === chatter) ?? {};
  return 'context_length' in found ? found.context_length : undefined;
}

/** Unloads the model, and so ends pending work for calls of other tests, which have other contexts. */
async function unload(chatter: string): Promise<void> {
  await new Ollama({ host: url ?? '' }).generate({ model: chatter, prompt: '', keep_alive: 0 });
  await vi.waitUntil(async () => (await contextIn(chatter)) === undefined, 60_000);
}

describe.skipIf(url === undefined)('a real Ollama, at OLLAMA_URL', () => {
  test('holds a model with one context for the judge and the rewrite', async () => {
    const scene = await openReal();
    await using _stack = scene;
    const { chatter, rule } = scene;
    const rules = rulesOf({ rule });
    const contextSize = (name: string) => contextSizeOf(name, rules, 'usual');
    const judge = createJudge({ model: chatter, contextSize }, scene);
    await unload(chatter);
    const contexts: unknown[] = [];
    for (const subject of subjects.slice(0, 2)) {
      await scene.enhance(`describe ${subject}`);
      contexts.push(await contextIn(chatter));
      await judge.ask(subject, 'the shed', never);
      contexts.push(await contextIn(chatter));
    }
    const [context] = contexts;
    assert.ok(typeof context === 'number' && context > 0);
    assert.deepEqual([...new Set(contexts)], [context]);
  }, 240_000);

  test('gives 8 clients with 4 prompts each their turns, and its breaker stays closed', async () => {
    const scene = await openReal();
    await using _stack = scene;
    const { all, done } = sendAll(scene);
    await all;
    const kinds = done.flatMap(({ attempts }) => attempts.map(({ kind }) => kind));
    const bad = ['breaker_open', 'unreachable', 'busy', 'malformed'] as const;
    assert.deepEqual(
      kinds.filter(kind => bad.some(other => other === kind)),
      [],
    );
    for (const { enhanced, reason } of done) assert.ok(enhanced || reason);
    assert.equal(scene.breaker.state, 'closed');
    // A prompt that got no turn has left the queue. The others show that the clients shared the turns.
    const served = clients.map(
      client =>
        done.filter(one => one.client === client && one.attempts[0]?.kind !== 'queue').length,
    );
    assert.ok(Math.max(...served) - Math.min(...served) <= 1, served.join(' '));
  }, 120_000);
});
