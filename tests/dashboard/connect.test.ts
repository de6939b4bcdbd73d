import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';
import { connectAs } from './browser/scene.ts';
import { visitor } from './scene.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub([{ name: 'calendar' }]);
});
afterAll(() => hub?.[Symbol.asyncDispose]());

async function cards(of: TestHub = hub): Promise<Readonly<Record<string, string>>> {
  const { status, text } = await visitor(of).get('/dashboard/connect');
  assert.equal(status, 200);
  const found = text.matchAll(/<li class="card">[^]*?<h2>([^<]*)<\/h2>([^]*?)<\/li>/g);
  return Object.fromEntries(
    Array.from(found, ([, title = '', card = '']) => [
      title,
      card.replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
    ]),
  );
}

test('each client has a card with its command and its entry', async () => {
  const all = await cards();
  assert.deepEqual(Object.keys(all), [
    'Claude Code',
    'Claude Desktop',
    'VS Code',
    'Cursor',
    'Windsurf',
    'Codex',
    'Gemini CLI',
    'Qwen Code',
    'Copilot CLI',
    'opencode',
    'Raycast',
  ]);
  for (const card of Object.values(all)) assert.match(card, /npx agenthub connect [\w-]+</);
  assert.match(all['Claude Code'] ?? '', /"mcpServers": \{\s*"agenthub": \{\s*"type": "http",/);
  assert.match(all['opencode'] ?? '', /"mcp": \{\s*"agenthub": \{\s*"type": "remote",/);
  assert.match(all['Codex'] ?? '', /\[mcp_servers\.agenthub\]\nurl = "http:[^"]*\/mcp"/);
});

test('links open Cursor and VS Code with the entry', async () => {
  const { Cursor = '', 'VS Code': code = '' } = await cards();
  const url = `${hub.url}/mcp`;
  const [, config = ''] = /href="cursor:[^"]*&config=([^"]*)"/.exec(Cursor) ?? [];
  const entry = Buffer.from(decodeURIComponent(config), 'base64').toString();
  assert.deepEqual(JSON.parse(entry), { url });
  const [, named = ''] = /href="vscode:mcp\/install\?([^"]*)"/.exec(code) ?? [];
  assert.deepEqual(JSON.parse(decodeURIComponent(named)), { name: 'agenthub', type: 'http', url });
});

test('a client is shown as connected while it has a session, and as seen after that', async () => {
  assert.match((await cards())['Cursor'] ?? '', /badge idle">not seen yet</);
  {
    await using _ = await connectAs(hub, 'qwen-cli-mcp-client-agenthub', '0.24.4');
    assert.match((await cards())['Qwen Code'] ?? '', /badge good">connected</);
  }
  {
    await using client = await connectAs(hub, 'cursor-vscode', '1.0.0');
    await client.call('calendar_list_events');
    const all = await cards();
    assert.match(all['Cursor'] ?? '', /badge good">connected</);
    assert.match(all['VS Code'] ?? '', /badge idle">not seen yet</);
  }
  assert.match((await cards())['Cursor'] ?? '', /badge idle">last call just now</);
});

test('with a token the entries refer to its variable, and nothing shows the token', async () => {
  const token = 'a-token-of-this-test';
  await using guarded = await startHub([], { http: { token } });
  const { text } = await visitor(guarded, { authorization: `Bearer ${token}` }).get(
    '/dashboard/connect',
  );
  assert.match(text, /This hub requires a token/);
  assert.match(text, /bearer_token_env_var = &quot;ROUTER_TOKEN&quot;/);
  assert.ok(!text.includes(token));
});
