import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { never } from '#helpers/never';
import { ModelFailure } from '#models';
import { atTurn, isEmbedder } from '../../hub/models/turn.ts';
import { failureOf } from './scene.ts';
import { hang, openScripted } from './scripted.ts';

const call = { model: 'chat', totalMs: 10_000, caller: { client: 'a' } };
const figures = { promptTokens: undefined, promptMs: undefined, loadMs: undefined };

/** Opens a queue whose only place is taken. */
async function openTaken() {
  const scene = openScripted(() => undefined);
  const release = Promise.withResolvers<void>();
  const first = atTurn(call, never, scene, () => release.promise);
  await nextTurn();
  return { ...scene, first, release };
}

describe('a call', () => {
  test('is sent at its turn, after which its model counts as loaded', async () => {
    const { first, release, modelList, ...scene } = await openTaken();
    let isMade = false;
    const second = atTurn(call, never, { ...scene, modelList }, async turn => {
      isMade = true;
      return turn.name;
    });
    await nextTurn();
    assert.equal(isMade, false);
    release.resolve();
    await first;
    assert.equal(await second, 'chat:latest');
    assert.equal(modelList.cached('chat')?.isLoaded, true);
    assert.deepEqual(scene.queue.snapshot(), []);
  });

  test('whose time ends in the queue leaves it at once, with that reason', async () => {
    const { clock, queue, told, ...scene } = await openTaken();
    const before = [...told];
    const late = failureOf(atTurn(call, never, { clock, queue, ...scene }, () => assert.fail()));
    await nextTurn();
    clock.advance(10_000);
    const { kind, message } = await late;
    assert.deepEqual([kind, message], ['queue', 'it waited 10 s for 1 prompt before it']);
    // The time of the first call is over too, but its work continues.
    assert.deepEqual(queue.snapshot(), [{ model: 'chat:latest', active: 1, waiting: 0 }]);
    assert.deepEqual(told, before, 'the breaker and the health hear nothing of it');
  });

  test('of a model that was removed after the list was read says how to get it', async () => {
    const gone = new ModelFailure('missing', 'Ollama answered 404');
    const work = atTurn(
      call,
      never,
      openScripted(() => undefined),
      () => Promise.reject(gone),
    );
    const { kind, message, cause } = await failureOf(work);
    assert.deepEqual([kind, cause], ['missing', gone]);
    assert.match(message, /^Ollama has no model chat\. Get it with "ollama pull chat" or POST /);
  });

  test('that has waited too long to finish in time is not sent', async () => {
    const { clock, paces, release, ...scene } = await openTaken();
    paces.answered('chat:latest', 4_000, figures);
    const late = failureOf(
      atTurn(call, never, { clock, ...scene }, () => assert.fail('it is sent')),
    );
    await nextTurn();
    clock.advance(8_500);
    release.resolve();
    const { kind, message } = await late;
    const why = 'it waited 8.5 s for 1 prompt before it, and the 1.5 s left were too short';
    assert.deepEqual([kind, message], ['queue', why]);
  });

  test('that times out after its turn says how much time it spent in the queue', async () => {
    const { clock, release, ...scene } = await openTaken();
    const late = failureOf(
      atTurn(call, never, { clock, ...scene }, (_turn, signal) => hang(signal)),
    );
    await nextTurn();
    clock.advance(4_000);
    release.resolve();
    await nextTurn();
    clock.advance(6_000);
    const { kind, message } = await late;
    const why = 'chat was not done within 10 s: it waited 4 s for 1 prompt before it';
    assert.deepEqual([kind, message], ['timeout', why]);
  });
});

test('after Ollama reports a full queue, fewer calls of any kind are sent at once', async () => {
  const scene = openScripted(() => undefined);
  const embedding = { ...call, model: 'embed' };
  const active = () => scene.queue.snapshot()[0]?.active;
  const full = () => Promise.reject(new ModelFailure('busy', 'Ollama answered 503'));
  const release = Promise.withResolvers<void>();
  const others = [1, 2, 3].map(() => atTurn(embedding, never, scene, () => release.promise));
  await nextTurn();
  assert.equal((await failureOf(atTurn(embedding, never, scene, full))).kind, 'busy');
  const next = atTurn(embedding, never, scene, () => release.promise);
  await nextTurn();
  assert.equal(active(), 3);
  release.resolve();
  await Promise.all([...others, next]);
});

test('after a switch of the model Ollama is asked which models are loaded', async () => {
  const scene = openScripted(({ path }) =>
    path === '/api/ps'
      ? Response.json({ models: [{ name: 'chat' }, { name: 'embed' }] })
      : undefined,
  );
  const looks = () => scene.sent.filter(({ path }) => path === '/api/ps').length;
  const made: boolean[] = [];
  for (const model of ['chat', 'chat', 'embed', 'chat'])
    await atTurn({ ...call, model }, never, scene, async ({ isSwitch }) => made.push(isSwitch));
  // One of the requests is for the list of models.
  assert.deepEqual([made, looks()], [[false, false, true, false], 2]);
});

test('an embedding model is recognized by its capabilities, or else by its name', () => {
  const info = { name: 'm', digest: 'd', sizeBytes: 1, isLoaded: false, capabilities: undefined };
  const cases = [
    [{ capabilities: ['embedding'] }, true],
    [{ capabilities: ['completion', 'embedding'] }, false],
    [{ name: 'nomic-embed-text:latest' }, true],
    [{ name: 'all-minilm:33m' }, true],
    [{ name: 'hf.co/org/Nomic-Embed-Text:Q4' }, true],
    [{ name: 'llama3.2:3b' }, false],
    [{ name: 'embedded-chat', capabilities: ['completion'] }, false],
  ] as const;
  for (const [made, expected] of cases) assert.equal(isEmbedder({ ...info, ...made }), expected);
});
