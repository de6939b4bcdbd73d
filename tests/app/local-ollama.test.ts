import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'vitest';
import { readSettings } from '#config';
import { systemClock } from '#core';
import { createLocalOllama } from '../../hub/app/local-ollama.ts';
import { startOllama } from '../doubles/ollama.ts';

/** Starts a program in place of Ollama that gives every request this answer, and records the requests. */
async function startProgram(body: string, status = 200) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    asked,
    withOllama: createLocalOllama({ clock: systemClock, url }),
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

const ollama = '{"version": "0.24.0"}';

test('an Ollama that answers on this machine is used', async () => {
  await using double = await startOllama();
  const withOllama = createLocalOllama({ clock: systemClock, url: double.url });
  const settings = await withOllama(readSettings({}));
  assert.equal(settings.ollama.url, double.url);
  assert.equal(settings.ollama.isFound, true);
});

test('Ollama is asked once, so that a reload finds equal settings', async () => {
  await using program = await startProgram(ollama);
  const first = await program.withOllama(readSettings({}));
  assert.equal(first.ollama.url, program.url);
  assert.deepEqual(await program.withOllama(readSettings({})), first);
  assert.deepEqual(program.asked, ['GET /api/version']);
});

describe('Ollama is not asked', () => {
  test.each([
    ['where one is named', { OLLAMA_HOST: 'other.example' }],
    ['where it is off', { OLLAMA_HOST: 'off' }],
    ['in a container', { AGENTHUB_IN_CONTAINER: 'true' }],
  ])('%s', async (_, env) => {
    await using program = await startProgram(ollama);
    const settings = readSettings(env);
    assert.equal(await program.withOllama(settings), settings);
    assert.deepEqual(program.asked, []);
  });
});

test.each<[string, string, number]>([
  ['another program answers', '<html>', 200],
  ['the answer has another form', '{"name": "other"}', 200],
  ['the answer is long', JSON.stringify({ version: 'x'.repeat(100_000) }), 200],
  ['it fails', ollama, 500],
])('Ollama is not used where %s', async (_, body, status) => {
  await using program = await startProgram(body, status);
  const settings = readSettings({});
  assert.equal(await program.withOllama(settings), settings);
  assert.equal(program.asked.length, 1);
});

test('Ollama is not used where nothing listens', async () => {
  const withOllama = createLocalOllama({ clock: systemClock, url: 'http://127.0.0.1:1' });
  const settings = readSettings({});
  assert.equal(await withOllama(settings), settings);
});
