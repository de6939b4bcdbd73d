import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { loadConfig } from '#config';
import { type Scratch, openScratch, planOf } from './machine.ts';

const key = 'sk-planted-0123456789abcdef0123';

async function prepare(scratch: Scratch) {
  const files = { config: join(scratch.home, 'hub.json'), dotenv: join(scratch.home, '.env') };
  await writeFile(files.config, '{"servers": {}}');
  const mail = { command: 'npx', args: ['-y', 'mail@1.0.0'], env: { TOKEN: key, MODE: 'a' } };
  await scratch.put('.cursor/mcp.json', JSON.stringify({ mcpServers: { mail } }));
  return files;
}

describe('keys that become secrets of the hub', () => {
  test('are stored before the config refers to them, and .env is not written', async () => {
    await using scratch = await openScratch();
    const files = await prepare(scratch);
    const plan = await scratch.clients.toSecrets(await planOf(scratch, files));
    assert.deepEqual(
      [plan.variables, plan.secrets],
      [[], [{ name: 'MCP_MAIL_TOKEN', value: key }]],
    );
    await scratch.clients.carryOutImport(plan, files);
    const written = JSON.parse(await readFile(files.config, 'utf8'));
    assert.deepEqual(written.servers.mail.env, { TOKEN: '${secret:MCP_MAIL_TOKEN}', MODE: 'a' });
    assert.equal(scratch.secrets.get('MCP_MAIL_TOKEN'), key);
    await assert.rejects(readFile(files.dotenv), { code: 'ENOENT' });
    const { servers } = await loadConfig(files.config, {
      env: {},
      home: scratch.home,
      secrets: async () => new Map([['MCP_MAIL_TOKEN', { value: key }]]),
    });
    const [mail] = servers;
    assert.ok(mail?.launch.kind === 'local');
    assert.equal(mail.launch.env['TOKEN'], key);
    const again = await planOf(scratch, files);
    assert.deepEqual(
      again.items.map(({ action }) => action),
      ['present'],
    );
  });

  test('are removed by an undo', async () => {
    await using scratch = await openScratch();
    const files = await prepare(scratch);
    const plan = await scratch.clients.toSecrets(await planOf(scratch, files));
    await scratch.clients.carryOutImport(plan, files);
    assert.deepEqual((await scratch.clients.newestImport())?.secrets, ['MCP_MAIL_TOKEN']);
    await scratch.clients.undoImport();
    assert.equal(scratch.secrets.size, 0);
    assert.equal(await readFile(files.config, 'utf8'), '{"servers": {}}');
  });

  test('do not replace a secret with another value', async () => {
    await using scratch = await openScratch();
    const files = await prepare(scratch);
    scratch.secrets.set('MCP_MAIL_TOKEN', 'of something else');
    await assert.rejects(scratch.clients.toSecrets(await planOf(scratch, files)), {
      code: 'HUB_CONFIG_CONFLICT',
      message: /MCP_MAIL_TOKEN exists already, with another value.*--keys env/,
    });
    scratch.secrets.set('MCP_MAIL_TOKEN', key);
    const plan = await scratch.clients.toSecrets(await planOf(scratch, files));
    assert.deepEqual(plan.secrets, [], 'it has this value already');
  });
});
