import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { type Clock, silent, systemClock } from '#core';
import { createModels } from '#models';
import { createBreaker } from '#resilience';
import { createTable } from '#store';
import { createEmbeddedVectors } from '#vectors';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { createJudge } from '../../hub/enhance/judge.ts';
import { createSemanticCache } from '../../hub/enhance/semantic.ts';
import { never } from './semantic-scene.ts';

const url = process.env['OLLAMA_URL'];
/** Clock without pauses between the steps of background work. */
const clock: Clock = { ...systemClock, after: (_delayMs, work) => systemClock.after(0, work) };
const first = 'How do I undo my last git commit?';
const reworded = 'How can I undo my last commit in git?';
const judged = 'Is there a good way to take back my last git commit?';
/** Guards that find `reworded` alike, and are unsure about `judged`. */
const compare = (a: string, b: string) => {
  if (a === reworded) return { verdict: 'alike', why: 'explained' } as const;
  return a === judged ? ({ verdict: 'unsure', why: 'other words' } as const) : compareGuarded(a, b);
};

async function openReal() {
  const stack = new AsyncDisposableStack();
  const breaker = stack.use(
    createBreaker({ failureThreshold: 100, recoveryMs: 1_000, trialMs: 1_000 }, systemClock),
  );
  const models = createModels({ url }, { clock: systemClock, log: silent, fetch, breaker });
  stack.defer(() => models.stop());
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-real-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const vectors = createEmbeddedVectors(join(folder, 'vectors.sqlite'), { clock, log: silent });
  await vectors.start(never);
  stack.defer(() => vectors.stop());
  const listed = await models.list(never);
  const modelFor = (capability: string) =>
    listed.find(({ capabilities }) => capabilities?.includes(capability))?.name ?? assert.fail();
  /** Opens a cache on the same files, as the next run of a hub does. */
  const open = () => {
    const tableIn = (name: string) =>
      createTable({ file: join(folder, name), maxEntries: 100 }, { log: silent });
    const tables = {
      thresholds: tableIn('thresholds.json'),
      judgements: tableIn('judgements.json'),
    };
    const judge = createJudge({ model: modelFor('completion') }, { models, clock: systemClock });
    const cache = createSemanticCache(
      { embeddingModel: modelFor('embedding'), compare },
      { models, vectors, judge, tables, clock, log: silent },
    );
    stack.defer(() => cache.stop());
    const find = (prompt: string) => cache.find(prompt, { scope: 's', mode: 'guarded' }, never);
    return { cache, find };
  };
  return { open, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe.skipIf(url === undefined)('a real Ollama, at OLLAMA_URL', { timeout: 300_000 }, () => {
  test('is calibrated in the background, also by a second hub after the first one was killed', async () => {
    await using real = await openReal();
    const killed = real.open();
    const bounds = { scope: 's', tag: 't', ttlMs: 600_000 };
    assert.equal(
      await killed.cache.store({ prompt: first, value: 'kept' }, bounds, never),
      undefined,
    );
    const early = await killed.find(reworded);
    assert.equal(early.why, 'shadow: explained');
    const calibrationOf = async ({ cache }: typeof killed) => (await cache.stats()).calibration;
    const turn = () => new Promise(resolve => setTimeout(resolve, 20));
    while ((await calibrationOf(killed)).compared < 12) await turn();
    killed.cache.stop();
    const next = real.open();
    await next.find(reworded);
    assert.ok((await calibrationOf(next)).compared >= 8);
    while ((await calibrationOf(next)).threshold === undefined) await turn();
    const { threshold = 1 } = await calibrationOf(next);
    assert.ok(threshold > 0.5 && threshold < 0.95, String(threshold));
    const found = await next.find(reworded);
    assert.ok(found.kind === 'hit' && found.similarity > threshold);
  });

  test('judges in the background', async () => {
    await using real = await openReal();
    const { cache, find } = real.open();
    const bounds = { scope: 's', tag: 't', ttlMs: 600_000 };
    await cache.store({ prompt: first, value: 'kept' }, bounds, never);
    assert.equal((await cache.stats()).waiting, 0);
    assert.equal((await find(judged)).kind, 'miss');
    while ((await cache.stats()).waiting > 0) await new Promise(resolve => setTimeout(resolve, 20));
    const { judgements } = await cache.stats();
    assert.equal(judgements.same + judgements.different + judgements.unknown, 1);
  });
});
