import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { ModelFailure } from '#models';
import { type Scene, asking, failureOf, kindOf, never, openModels } from './scene.ts';

/** Ollama under test: the double or a real one. */
type OllamaKind = {
  readonly name: string;
  open(): Promise<AsyncDisposable & { readonly url: string }>;
};

/** Timeouts in ms. On a CPU, a model may need this long, including the time to load it. */
const patience = { firstTokenMs: 120_000, totalMs: 240_000 };
const options = { timeout: 300_000 };

/** Contract of the hub's models, for every kind of Ollama. */
export function modelsContract(kind: OllamaKind): void {
  describe(kind.name, () => {
    let scene: Scene;
    let chatter = '';
    let embedder = '';
    const stack = new AsyncDisposableStack();
    const ask = (made: Parameters<typeof asking>[0] = {}) =>
      asking({ model: chatter, ...patience, ...made });

    beforeAll(async () => {
      scene = stack.use(openModels(stack.use(await kind.open()).url));
      const models = await scene.models.list(never);
      const smallest = (capability: string) =>
        models
          .filter(({ capabilities }) => capabilities?.includes(capability))
          .toSorted((a, b) => a.sizeBytes - b.sizeBytes)[0]?.name ?? '';
      embedder = smallest('embedding');
      chatter = smallest('completion');
      assert.ok(
        chatter !== '' && embedder !== '',
        'Ollama needs a model with the capability completion and one with embedding',
      );
    });
    afterAll(async () => await stack.disposeAsync());

    test('lists models with their digests and sizes', async () => {
      for (const model of await scene.models.list(never)) {
        assert.match(model.digest, /^[0-9a-f]{64}$/);
        assert.ok(model.sizeBytes > 0);
        assert.match(model.name, /:/);
      }
    });

    test('finds a model whatever the case of its name, and no unknown model', async () => {
      const found = await scene.models.find(chatter.toUpperCase(), never);
      assert.equal(found?.name, chatter);
      assert.equal(await scene.models.find('no-such-model', never), undefined);
    });

    test('completes a prompt, and reports its text as it arrives', options, async () => {
      const pieces: string[] = [];
      const progress = (piece: string) => void pieces.push(piece);
      const done = await scene.models.complete(
        ask({ prompt: 'Say hello.', options: { temperature: 0, num_predict: 200 }, progress }),
        never,
      );
      assert.ok(done.text.length > 0);
      assert.equal(pieces.join('').trim(), done.text);
      assert.equal(done.model, chatter);
      assert.equal(done.digest, (await scene.models.find(chatter, never))?.digest);
      assert.ok((done.promptTokens ?? 0) > 0 && (done.outputTokens ?? 0) > 0);
      assert.ok((await scene.models.find(chatter, never))?.isLoaded);
    });

    test('returns JSON of the given schema', options, async () => {
      const format = {
        type: 'object',
        properties: { same: { type: 'boolean' } },
        required: ['same'],
      };
      const { text } = await scene.models.complete(
        ask({ prompt: 'Are "two" and "2" the same number?', format, options: { temperature: 0 } }),
        never,
      );
      const answer: unknown = JSON.parse(text);
      assert.ok(answer !== null && typeof answer === 'object' && 'same' in answer);
      assert.equal(typeof answer.same, 'boolean');
    });

    test('fails if the limit cuts off the answer', options, async () => {
      const cut = ask({ prompt: 'Count to one hundred.', options: { num_predict: 2 } });
      assert.equal(await kindOf(scene.models.complete(cut, never)), 'cut');
    });

    test('fails for a prompt that exceeds the context, without truncation', options, async () => {
      const long = ask({ prompt: 'word '.repeat(5_000), options: { num_ctx: 512 } });
      assert.equal(await kindOf(scene.models.complete(long, never)), 'too_long');
    });

    test('fails every call for an unknown model as missing', async () => {
      const failure = await failureOf(scene.models.complete(ask({ model: 'no-such:7b' }), never));
      assert.equal(failure.kind, 'missing');
      assert.match(failure.message, /no-such:7b.*pull/);
      assert.equal(await kindOf(scene.models.embed('no-such:7b', 'text', never)), 'missing');
    });

    test('aborts one call without affecting another', options, async () => {
      const controller = new AbortController();
      const given = scene.models.complete(ask({ prompt: 'Say one.' }), controller.signal);
      const other = scene.models.complete(
        ask({ prompt: 'Say two.', options: { num_predict: 100 } }),
        never,
      );
      controller.abort();
      assert.equal(await kindOf(given), 'cancelled');
      // A small model may reach the limit of tokens first.
      const ended = await other.then(
        () => 'done',
        (error: unknown) => error instanceof ModelFailure && error.kind,
      );
      assert.ok(ended === 'done' || ended === 'cut', String(ended));
    });

    test('returns vectors of length 1, equal for the same text', options, async () => {
      const text = 'clustering: rename foo to bar';
      const { vector, digest } = await scene.models.embed(embedder, text, never);
      assert.ok(vector.length >= 64);
      assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5);
      assert.equal(digest, (await scene.models.find(embedder, never))?.digest);
      const again = await scene.models.embed(embedder, text, never);
      assert.ok(vector.every((value, at) => Math.abs(value - (again.vector[at] ?? 0)) < 1e-4));
      const other = await scene.models.embed(embedder, 'clustering: the weather', never);
      assert.ok(vector.some((value, at) => Math.abs(value - (other.vector[at] ?? 0)) > 1e-3));
    });

    test('fails for a text that exceeds the context of the embedding model', options, async () => {
      const long = 'word '.repeat(20_000);
      assert.equal(await kindOf(scene.models.embed(embedder, long, never)), 'too_long');
    });

    test('loads models in the background', options, async () => {
      scene.models.warmUp(chatter);
      scene.models.warmUp(embedder);
      scene.models.warmUp('no-such-model');
      const [chat, embed] = [chatter, embedder];
      const loaded = async () => {
        const models = await scene.models.list(never);
        return models.filter(model => model.isLoaded).map(model => model.name);
      };
      const deadline = performance.now() + 240_000;
      for (;;) {
        const names = await loaded();
        if (names.includes(chat) && names.includes(embed)) return;
        assert.ok(performance.now() < deadline, `only ${names.join(', ')} are in memory`);
      }
    });
  });
}
