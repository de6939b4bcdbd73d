import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { type HubProcess, getJson, startHub } from '#helpers/hub-process';
import { startOllama } from '../doubles/ollama.ts';
import { type Sent, send } from '../transports/raw.ts';

const config = { servers: {} };

async function ask(hub: Pick<HubProcess, 'url' | 'ownerHeaders'>, path: string, sent: Sent) {
  const headers = {
    ...hub.ownerHeaders,
    ...(sent.body && { 'content-type': 'application/json' }),
    ...sent.headers,
  };
  const response = await send(`${hub.url}${path}`, { method: 'POST', ...sent, headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const enhance = async (hub: HubProcess, prompt: string, headers = {}) =>
  await ask(hub, '/ollama/enhance', { headers, body: { prompt } });

/** Returns the state of a part of the hub, as /health shows it. */
async function stateOf(hub: HubProcess, part: string): Promise<unknown> {
  const health = await getJson(hub, '/health');
  const parts = isObject(health) ? health['parts'] : undefined;
  const found = isObject(parts) ? parts[part] : undefined;
  return isObject(found) ? found['state'] : undefined;
}

describe('a hub that improves prompts', () => {
  test('returns them unchanged without Ollama, and says so', async () => {
    await using hub = await startHub({ config });
    assert.equal(await stateOf(hub, 'ollama'), 'off');
    const { status, headers, body } = await enhance(hub, 'fix my code');
    assert.equal(status, 200);
    assert.equal(headers['x-cache'], 'DISABLED');
    assert.deepEqual([body['prompt'], body['enhanced']], ['fix my code', false]);
    assert.match(String(body['reason']), /set OLLAMA_HOST/);
  });

  test('calls its Ollama once for equal prompts of a client, until they are forgotten', async () => {
    await using ollama = await startOllama();
    const env = { OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'llama3.2:3b' };
    await using hub = await startHub({ config, env });
    ollama.says('Fix the code in a.ts.');
    const asked = () =>
      ollama.received('/api/chat').filter(({ body }) => JSON.stringify(body).includes('a.ts'))
        .length;
    const first = await enhance(hub, 'fix a.ts');
    assert.deepEqual(
      [first.headers['x-cache'], first.body['prompt'], first.body['source']],
      ['MISS', 'Fix the code in a.ts.', 'model'],
    );
    const again = await enhance(hub, 'fix a.ts');
    assert.deepEqual([again.headers['x-cache'], again.body['source']], ['HIT-L1', 'l1']);
    assert.equal(asked(), 1);
    assert.equal((await enhance(hub, 'fix a.ts', { 'x-client-name': 'raycast' })).status, 200);
    assert.equal(asked(), 2, 'clients share nothing');
    assert.equal(await stateOf(hub, 'ollama'), 'up');

    await ask(hub, '/ollama/cache?client=default', { method: 'DELETE' });
    assert.equal((await enhance(hub, 'fix a.ts')).headers['x-cache'], 'MISS');
    await ollama.stop();
    const kept = await enhance(hub, 'fix a.ts');
    assert.equal(kept.headers['x-cache'], 'HIT-L1', 'what is kept needs no Ollama');
    const lost = await enhance(hub, 'fix b.ts');
    assert.deepEqual([lost.status, lost.body['prompt']], [200, 'fix b.ts']);
    assert.match(String(lost.body['reason']), /Ollama cannot be reached/);
  });

  test('reloads its rules, and keeps the last valid ones', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-rules-'));
    const file = join(folder.path, 'rules.json');
    const write = async (model: unknown) =>
      await writeFile(file, JSON.stringify({ default: { model, system_prompt: 'Rewrite.' } }));
    await write('llama3.2:3b');
    await using ollama = await startOllama({ models: ['llama3.2:3b', 'other:1b'] });
    await using hub = await startHub({
      config,
      env: { OLLAMA_HOST: ollama.url, ENHANCEMENT_RULES_CONFIG: file },
    });
    const modelOf = async () => (await enhance(hub, 'fix my code')).body['model'];
    assert.equal(await modelOf(), 'llama3.2:3b');
    await write('other:1b');
    assert.equal((await ask(hub, '/config/reload', {})).status, 200);
    assert.equal(await modelOf(), 'other:1b');
    await write(5);
    const refused = await ask(hub, '/config/reload', {});
    assert.equal(refused.status, 400);
    assert.match(JSON.stringify(refused.body), /rules\.json.*model/);
    assert.equal(await modelOf(), 'other:1b');
    assert.equal(await stateOf(hub, 'rules'), 'degraded');
  });

  test('does not start with invalid rules', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-rules-'));
    const file = join(folder.path, 'rules.json');
    await writeFile(file, '{"default": {"modle": "x"}}');
    const env = { ENHANCEMENT_RULES_CONFIG: file };
    await assert.rejects(startHub({ config, env }), /rules\.json.*modle/s);
  });
});
