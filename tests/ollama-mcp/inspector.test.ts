import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startOllama } from '../doubles/ollama.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');
const inspector = '@modelcontextprotocol/inspector@2.12.0';

let home: string;
beforeAll(async () => {
  execFileSync(process.execPath, [join(root, 'scripts', 'build-images.mjs')]);
  home = await mkdtemp(join(tmpdir(), 'agenthub-inspector-'));
  // The install scripts build a web page, which these tests do not open.
  const quick = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...quick, '--prefix', home, inspector]);
});
afterAll(() => rm(home, { recursive: true, force: true }));

test.each(['legacy', 'modern'])('the official inspector runs a prompt, era %s', async era => {
  await using ollama = await startOllama();
  ollama.says('The sky is blue.');
  const call = ['--tool-name', 'ollama_run', '--tool-arg', 'model=llama3.2:3b', 'prompt=Why?'];
  const { stdout } = await run(
    join(home, 'node_modules', '.bin', 'mcp-inspector'),
    [
      '--cli',
      '-e',
      `OLLAMA_HOST=${ollama.url}`,
      '--protocol-era',
      era,
      '--method',
      'tools/call',
      ...call,
      '--',
      process.execPath,
      join(root, 'images', 'ollama-mcp', 'ollama-mcp.mjs'),
    ],
    { env: { ...process.env, HOME: home } },
  );
  const result: unknown = JSON.parse(stdout);
  expect(result).toMatchObject({
    content: [{ type: 'text', text: 'The sky is blue.' }],
    structuredContent: { text: 'The sky is blue.', done_reason: 'stop' },
  });
  assert.equal(ollama.received('/api/chat').length, 1);
});
