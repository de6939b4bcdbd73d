import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
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
    async [Symbol.asyncDispose]() {
      await service.stop();
      await models.stop();
    },
  };
}

test('with an Ollama tools get vectors, which the data folder keeps; without one words find tools', async () => {
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
      // Words answer until the vectors are there.
      assert.deepEqual(await hub.search.find(tools, wanted, never), [0]);
      await until(() => embedded() >= 4 && existsSync(file));
    }
    const before = embedded();
    await using again = open({ OLLAMA_HOST: ollama.url }, folder);
    again.search.prepare(tools);
    // Only the query is embedded, and what has no word of it is found too.
    let found = 0;
    await until(() => {
      void again.search.find(tools, wanted, never).then(({ length }) => (found = length));
      return found === 2;
    });
    assert.equal(embedded(), before + 1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
