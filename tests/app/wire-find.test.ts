import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { defaultRules, readModels, readSettings } from '#config';
import { silent, systemClock } from '#core';
import { until } from '#helpers/hub';
import { never } from '#helpers/never';
import { wireFind } from '../../hub/app/wire-find.ts';
import { createModelAccess } from '../../hub/app/wire-models.ts';
import { startOllama } from '../doubles/ollama.ts';

const toolOf = (name: string) => ({
  server: 'files',
  name,
  definition: Buffer.from(JSON.stringify({ name, description: `Does ${name}.` })),
});
const tools = [toolOf('read_file'), toolOf('send_letter')];
const wanted = { query: 'read', limit: 2, isFindable: () => true };

const linesOf = (file: string) =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;

function open(environment: Readonly<Record<string, string>>, folder: string) {
  const settings = readSettings(environment);
  const system = { clock: systemClock, log: silent };
  const models = createModelAccess(settings, {
    ...system,
    newId: () => 'id',
    config: () => ({ models: readModels(undefined).models }),
    rules: () => defaultRules,
  });
  const prompts = { rules: { current: defaultRules } };
  const { search, service } = wireFind(settings, folder, { ...system, models, prompts });
  return {
    search,
    service,
    async [Symbol.asyncDispose]() {
      await service.stop();
      await models.stop();
    },
  };
}

test('tools are found by vectors that the data folder keeps with an Ollama, and by words without one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-find-'));
  const file = join(folder, 'tool-vectors.jsonl');
  try {
    {
      await using plain = open({}, folder);
      assert.deepEqual(await plain.search.find(tools, wanted, never), [0]);
      assert.ok(!existsSync(file));
    }
    await using ollama = await startOllama();
    const embedded = () => ollama.received('/api/embed').length;
    {
      await using hub = open({ OLLAMA_HOST: ollama.url }, folder);
      // The search by words answers until the vectors exist.
      assert.deepEqual(await hub.search.find(tools, wanted, never), [0]);
      // The file has a line for each tool. Tools that are not stored yet would be embedded again.
      await until(() => embedded() >= 4 && linesOf(file) === tools.length);
    }
    const before = embedded();
    await using again = open({ OLLAMA_HOST: ollama.url }, folder);
    again.search.prepare(tools);
    // The hub embeds only the query, and also finds the tool that contains no word of it.
    let found = 0;
    let isAsking = false;
    // One search at a time: two concurrent searches would both embed the query.
    await until(() => {
      if (isAsking) return false;
      if (found === 2) return true;
      isAsking = true;
      void again.search.find(tools, wanted, never).then(({ length }) => {
        found = length;
        isAsking = false;
      });
      return false;
    });
    assert.equal(embedded(), before + 1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a search that comes after the stop is refused, and loads nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-find-'));
  await using ollama = await startOllama();
  await using hub = open({ OLLAMA_HOST: ollama.url }, folder);
  await hub.service.stop();
  hub.search.prepare(tools);
  await assert.rejects(hub.search.find(tools, wanted, never), { code: 'HUB_SHUTTING_DOWN' });
  assert.equal(ollama.received().length, 0);
  await rm(folder, { recursive: true });
});
