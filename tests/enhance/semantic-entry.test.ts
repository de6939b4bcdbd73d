import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { never } from '#helpers/never';
import { createRecordingLog } from '#helpers/recording-log';
import { type FailureKind, ModelFailure } from '#models';
import {
  type SemanticEntry,
  createPromptEmbedder,
  entryOf,
  pointOf,
} from '../../hub/enhance/semantic-entry.ts';

const embedded = { scope: 's', vector: Float32Array.of(0.6, 0.8) };
const entry: SemanticEntry = {
  prompt: 'p',
  value: 'v',
  tag: 't',
  createdAt: 1,
  expiresAt: 2,
};
const nearOf = (changes: Readonly<Record<string, string | number | undefined>> = {}) => {
  const { vector: _, ...point } = pointOf(entry, embedded);
  const fields = Object.entries({ ...point.payload, ...changes });
  const payload = Object.fromEntries(
    fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
  return { ...point, payload, score: 1 };
};

describe('an entry', () => {
  test('is read back unchanged', () => {
    assert.deepEqual(entryOf({ ...pointOf(entry, embedded), score: 1 }), entry);
  });

  test.each(['prompt', 'value', 'tag', 'created_at', 'expires_at'])(
    'without %s, or with a wrong type of it, is ignored',
    name => {
      const wrong = name.endsWith('_at') ? '1' : 1;
      for (const value of [undefined, wrong])
        assert.equal(entryOf(nearOf({ [name]: value })), undefined);
    },
  );
});

describe('the id of a point', () => {
  const idOf = (changes: Partial<SemanticEntry> = {}, scope = 's') =>
    pointOf({ ...entry, ...changes }, { ...embedded, scope }).id;

  test('is a UUID of version 8', () => {
    assert.match(idOf(), /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
  });

  test('is the same for another result of the prompt, and different for anything else', () => {
    assert.equal(idOf({ value: 'w', tag: 'u', createdAt: 3, expiresAt: 4 }), idOf());
    assert.equal(new Set([idOf(), idOf({ prompt: 'q' }), idOf({}, 'other')]).size, 3);
  });
});

function openEmbedder(model = 'plain') {
  const clock = createManualClock();
  const texts: string[] = [];
  let digest = 'd';
  const embed = createPromptEmbedder(model, {
    clock,
    log: silent,
    models: {
      async embed(_model, text) {
        texts.push(text);
        return { vector: Float32Array.of(1, 0), digest };
      },
    },
  });
  return { clock, texts, embed, become: (other: string) => void (digest = other) };
}

describe('a prompt', () => {
  test.for([
    ['nomic-embed-text:latest', 'clustering: one'],
    ['hf.co/x/Nomic-Embed:q4', 'clustering: one'],
    ['mxbai-embed-large', 'one'],
  ] as const)('is sent to %s as %j', async ([model, expected]) => {
    const { embed, texts } = openEmbedder(model);
    await embed('one', 'scope', never);
    assert.deepEqual(texts, [expected]);
  });

  test.for([
    [
      'Hi! Can you please explain “hoisting” in JavaScript? Thanks.',
      'explain "hoisting" in javascript',
    ],
    ["What's new:  in  ES2025", 'what is new in ES2025'],
    ['...', '...'],
  ] as const)('%j is embedded as %j: without politeness and typography', async ([prompt, text]) => {
    const { embed, texts } = openEmbedder();
    await embed(prompt, 'scope', never);
    assert.deepEqual(texts, [text]);
  });

  test('is embedded once within a minute', async () => {
    const { embed, texts, clock } = openEmbedder();
    const [first, second] = [await embed('one', 'a', never), await embed('one', 'b', never)];
    assert.equal(first.vector, second.vector);
    assert.notEqual(first.scope, second.scope);
    clock.advance(59_999);
    await embed('one', 'a', never);
    assert.equal(texts.length, 1);
    clock.advance(1);
    await embed('one', 'a', never);
    assert.equal(texts.length, 2);
  });

  test('is embedded again after 64 others', async () => {
    const { embed, texts } = openEmbedder();
    for (let number = 0; number <= 64; number++) await embed(String(number), 'a', never);
    await embed('1', 'a', never);
    assert.equal(texts.length, 65);
    await embed('0', 'a', never);
    assert.equal(texts.length, 66);
  });

  test('has another collection and scope once another model has the same name', async () => {
    const { embed, become } = openEmbedder();
    const before = await embed('one', 'a', never);
    assert.match(before.collection, /^prompts-v2-[\da-f]{16}-2$/);
    become('other');
    const after = await embed('two', 'a', never);
    assert.notEqual(after.collection, before.collection);
    assert.notEqual(after.scope, before.scope);
  });

  test('is embedded again as soon as another model has the same name', async () => {
    const { embed, become, texts } = openEmbedder();
    await embed('one', 'a', never);
    become('other');
    const { collection } = await embed('two', 'a', never);
    assert.equal((await embed('one', 'a', never)).collection, collection);
    assert.equal(texts.length, 3);
  });

  test('that the model could not embed is retried', async () => {
    let fails = true;
    const embed = createPromptEmbedder('plain', {
      clock: createManualClock(),
      log: silent,
      models: {
        async embed() {
          if (fails) throw new Error('busy');
          return { vector: Float32Array.of(1), digest: 'd' };
        },
      },
    });
    await assert.rejects(embed('one', 'a', never), /busy/);
    fails = false;
    assert.equal((await embed('one', 'a', never)).vector.length, 1);
  });

  test('that the model refuses is logged at the first refusal, and again after a success', async () => {
    const { log, logged } = createRecordingLog();
    let kind: FailureKind | undefined = 'refused';
    const embed = createPromptEmbedder('chat', {
      clock: createManualClock(),
      log,
      models: {
        async embed() {
          if (kind) throw new ModelFailure(kind, 'Ollama answered 501: no embeddings');
          return { vector: Float32Array.of(1), digest: 'd' };
        },
      },
    });
    for (const outcome of ['too_long', 'refused', 'refused', undefined, 'refused'] as const) {
      kind = outcome;
      await embed(`prompt ${outcome}`, 'a', never).catch(() => undefined); // The log is what is tested.
    }
    const error = 'Ollama answered 501: no embeddings';
    const message =
      'the embedding model cannot embed prompts: only equal prompts share a result. Name another one as "embedding_model" in the rules for prompts';
    const line = { level: 'warn', message, fields: { model: 'chat', error } };
    assert.deepEqual(logged, [line, line]);
  });
});
