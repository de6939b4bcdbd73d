import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readSettings } from '#config';
import { systemClock } from '#core';
import { createLocalOllama } from '../../hub/app/local-ollama.ts';
import { startOllama } from '../doubles/ollama.ts';

const url = 'http://127.0.0.1:11434';

/** A way to settings, and how often it has asked for an Ollama. */
function withAnswer(answer: () => Promise<Response>) {
  const asked: string[] = [];
  const withOllama = createLocalOllama({
    clock: systemClock,
    async fetch(address) {
      asked.push(address);
      return await answer();
    },
  });
  return { asked, withOllama };
}

const ollama = async () => Response.json({ version: '0.24.0' });

test('an Ollama that answers on this machine is used', async () => {
  await using real = await startOllama();
  const withOllama = createLocalOllama({ clock: systemClock, fetch, url: real.url });
  const settings = await withOllama(readSettings({}));
  assert.equal(settings.ollama.url, real.url);
  assert.equal(settings.ollama.isFound, true);
});

test('it is asked once, so that a reload finds equal settings', async () => {
  const { asked, withOllama } = withAnswer(ollama);
  const first = await withOllama(readSettings({}));
  assert.equal(first.ollama.url, url);
  assert.deepEqual(await withOllama(readSettings({})), first);
  assert.deepEqual(asked, [`${url}/api/version`]);
});

describe('nobody is asked', () => {
  test.each([
    ['where one is named', { OLLAMA_HOST: 'other.example' }],
    ['where it is off', { OLLAMA_HOST: 'off' }],
    ['in a container', { AGENTHUB_IN_CONTAINER: 'true' }],
  ])('%s', async (_, env) => {
    const { asked, withOllama } = withAnswer(ollama);
    const settings = readSettings(env);
    assert.equal(await withOllama(settings), settings);
    assert.deepEqual(asked, []);
  });
});

test.each<[string, () => Promise<Response>]>([
  ['nothing listens', async () => Promise.reject(new TypeError('fetch failed'))],
  ['another program answers', async () => new Response('<html>')],
  ['it has another form', async () => Response.json({ name: 'other' })],
  ['it fails', async () => Response.json({ version: '1' }, { status: 500 })],
])('none is used where %s', async (_, answer) => {
  const settings = readSettings({});
  assert.equal(await withAnswer(answer).withOllama(settings), settings);
});
