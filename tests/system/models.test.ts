import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { connectEra } from '#helpers/eras';
import { startHub } from '#helpers/hub-process';
import { startOpenAi } from '../doubles/openai.ts';

const key = 'sk-of-the-provider-4711';
const server = join(import.meta.dirname, '../fixtures/eras/server-2025.mjs');

/** Starts a hub with a provider `work`, whose key is the secret WORK_KEY, and a server that requests completions. */
async function open(url: string, secret: string) {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-secrets-'));
  stack.defer(() => folder.remove());
  await writeFile(join(folder.path, 'WORK_KEY'), secret);
  const hub = stack.use(
    await startHub({
      config: {
        models: { default: 'work/gpt-x', providers: { work: { url, key: '${secret:WORK_KEY}' } } },
        servers: {
          fixture: {
            command: process.execPath,
            args: [server],
            runtime: 'process',
            sampling: 'hub',
          },
        },
      },
      env: { AGENTHUB_SECRETS_DIR: folder.path, LOG_LEVEL: 'trace' },
    }),
  );
  const client = stack.use(await connectEra('2025', `${hub.url}/mcp/fixture`, { sampling: false }));
  const page = async (path: string) =>
    await (await fetch(`${hub.url}${path}`, { headers: hub.ownerHeaders })).text();
  return { hub, client, page, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('a server is answered by a provider, whose key is shown nowhere', async () => {
  await using endpoint = await startOpenAi(() => 'because', { key });
  await using scene = await open(endpoint.url, key);
  const said = await scene.client.call('ask_model', { question: 'why' });
  assert.equal(said, 'the model said: because');
  const [request] = endpoint.received();
  assert.deepEqual(
    [request?.headers.authorization, request?.body['model']],
    [`Bearer ${key}`, 'gpt-x'],
  );
  const metrics = await scene.page('/metrics');
  assert.match(metrics, /agenthub_model_answers_total\{model="work\/gpt-x",caller="server"\} 1/);
  const shown = [metrics, scene.hub.log(), ...(await pagesOf(scene.page))].join('\n');
  assert.ok(shown.includes('fixture'));
  assert.ok(!shown.includes(key));
});

test('a refused key is told with the setting to change, and not shown', async () => {
  const wrong = `${key}-wrong`;
  await using endpoint = await startOpenAi(() => 'because', { key });
  await using scene = await open(endpoint.url, wrong);
  const said = await scene.client.call('ask_model', { question: 'why' }).catch(String);
  assert.match(said, /work answered 401: .*Check models\.providers\.work\.key/);
  const shown = [said, scene.hub.log(), ...(await pagesOf(scene.page))].join('\n');
  assert.ok(!shown.includes(wrong), 'the endpoint quotes the key in its error');
});

const pagesOf = async (page: (path: string) => Promise<string>) =>
  await Promise.all(['/health', '/servers', '/activity'].map(page));
