import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { defaultRules, readModels, readSettings } from '#config';
import { silent, systemClock } from '#core';
import { caller } from '#helpers/principal';
import { createBacklog } from '#store';
import { wireDocumentation } from '../../hub/app/wire-documentation.ts';
import { createModelAccess } from '../../hub/app/wire-models.ts';
import { parseDocumentationRequest } from '../../hub/documentation/request.ts';
import { createDocumentationScene, createTestJobs, resultOf } from '../documentation/harness.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';

test('modules are described by the model of Ollama if it has that model, without secrets that the hub knows', async () => {
  await using opened = new AsyncDisposableStack();
  const ollama = opened.use(
    await startScriptedOllama({ script: () => '- It holds one word. [src/a.ts:1]' }),
  );
  const scene = opened.use(createDocumentationScene());
  const models = readModels(undefined).models;
  const current = { models: { ...models, defaultModel: 'scripted:1b' } };
  const access = createModelAccess(readSettings({ OLLAMA_HOST: ollama.url }), {
    clock: systemClock,
    log: silent,
    newId: () => 'id',
    config: () => current,
    rules: () => defaultRules,
  });
  opened.defer(() => access.stop());
  const jobs = createTestJobs([]);
  const data = join(scene.home, 'data');
  mkdirSync(data);
  const documentation = wireDocumentation(data, {
    clock: systemClock,
    log: silent,
    redact: text => text.replaceAll('hunter2', '[redacted]'),
    backlog: createBacklog(),
    jobs,
    repositories: scene.repositories,
    models: access,
    config: () => ({}),
  });
  opened.defer(async () => await documentation.service.stop());
  const repo_path = scene.create({ 'src/a.ts': "export const a = 'hunter2';\n" });
  const run = async (project_name: string, model?: string) => {
    const request = { repo_path, project_name, vault: scene.vault, ...(model && { model }) };
    const id = await documentation.begin(parseDocumentationRequest(request), caller);
    return resultOf(await scene.ended(id, { jobs, documentation }));
  };

  const result = await run('with');
  assert.deepEqual([result['model'], result['described']], ['scripted:1b', 1]);
  assert.match(scene.notes('with').get('with - src') ?? '', /- It holds one word\. `src\/a\.ts:1`/);
  const [asked] = ollama.received('/api/chat');
  assert.match(JSON.stringify(asked?.body), /Module: src/);
  assert.doesNotMatch(JSON.stringify(asked?.body), /hunter2/);

  current.models = { ...models, defaultModel: 'missing:7b' };
  assert.equal((await run('without'))['model'], null);

  const message =
    'model: Ollama has no model missing:7b. Get it with "ollama pull missing:7b" or POST /ollama/models/missing:7b/pull';
  await assert.rejects(run('named', 'missing:7b'), { code: 'HUB_REQUEST_INVALID', message });
  assert.equal((await run('named', 'scripted:1b'))['model'], 'scripted:1b');
  assert.equal((await run('named', 'none'))['model'], null);
  await ollama.stop();
  const { model_failure: failure } = await run('later', 'missing:7b');
  assert.match(String(failure), /Ollama/);
});
