import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defaultRules, readSettings } from '#config';
import { systemClock as clock } from '#core';
import { never } from '#helpers/never';
import { freePort } from '#helpers/port';
import { examineOllama } from '../../hub/app/examine-ollama.ts';
import { startOllama } from '../doubles/ollama.ts';

const examine = async (env: Readonly<Record<string, string>>, signal = never) =>
  await examineOllama(readSettings(env), { rules: defaultRules, clock }, signal);

test('models that rules need and Ollama does not have are named', async () => {
  await using ollama = await startOllama({ models: ['llama3.2:3b'] });
  const env = { OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'llama3.2:3b' };
  const { missing, ...rest } = await examine(env);
  assert.deepEqual(rest, { state: 'up', detail: 'Ollama 0.40.1' });
  assert.deepEqual(
    missing.map(({ model, use, isPulled }) => [model, use, isPulled]),
    [['nomic-embed-text', 'embedding', false]],
  );
  const pulling = await examine({ ...env, OLLAMA_PULL: 'true' });
  assert.match(pulling.missing[0]?.message ?? '', /The hub will pull it$/);
});

test('a hub without an Ollama needs no models', async () => {
  const { state, detail } = await examine({});
  assert.deepEqual([state, detail], ['off', 'not used: set OLLAMA_HOST']);
});

test('an Ollama that does not answer is down', async () => {
  const port = await freePort();
  const { state, detail } = await examine({ OLLAMA_HOST: `http://127.0.0.1:${port}` });
  assert.equal(state, 'down');
  assert.match(detail, new RegExp(`^Ollama cannot be reached at http://127.0.0.1:${port}: `));
});

test('a command that was stopped does not ask Ollama', async () => {
  const stopped = AbortSignal.abort(new Error('stopped'));
  await assert.rejects(examine({ OLLAMA_HOST: 'http://127.0.0.1:1' }, stopped), /stopped/);
});
