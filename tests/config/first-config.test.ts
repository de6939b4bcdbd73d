import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { loadConfig, writeFirstConfig } from '#config';
import { temporary } from './editing.ts';

const configs = join(import.meta.dirname, '..', '..', 'configs');
const shipped = {
  configFile: join(configs, 'mcp-servers.default.json'),
  schemaFile: join(configs, 'hub.schema.json'),
};
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('the first config is the shipped one, private, with the schema that it names beside it', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'a', 'b', 'mcp-servers.json');
  assert.equal(await writeFirstConfig(file, shipped, true), true);
  const config = await loadConfig(file, { env: {}, home: '/home/user' });
  assert.equal(config.servers.length, 5);
  const { $schema } = JSON.parse(await readFile(file, 'utf8'));
  assert.equal(
    await readFile(join(dirname(file), $schema), 'utf8'),
    await readFile(shipped.schemaFile, 'utf8'),
  );
  assert.deepEqual([await modeOf(file), await modeOf(dirname(file))], ['600', '700']);
});

test("an existing file is never changed, and the schema is updated only in the hub's own folder", async () => {
  await using folder = await temporary();
  for (const [name, isPrivate, schema] of [
    ['mine', true, await readFile(shipped.schemaFile, 'utf8')],
    ['project', false, 'old'],
  ] as const) {
    const file = join(folder.path, name, 'mcp-servers.json');
    await mkdir(dirname(file));
    await writeFile(file, '{"servers": {}} // mine');
    await writeFile(join(dirname(file), 'hub.schema.json'), 'old');
    assert.equal(await writeFirstConfig(file, shipped, isPrivate), false);
    assert.equal(await readFile(file, 'utf8'), '{"servers": {}} // mine');
    assert.equal(await readFile(join(dirname(file), 'hub.schema.json'), 'utf8'), schema);
  }
});

test('a first config in a shared folder is readable for its user only', async () => {
  await using folder = await temporary();
  const file = join(folder.path, 'mcp-servers.json');
  assert.equal(await writeFirstConfig(file, shipped, false), true);
  assert.equal(await modeOf(file), '600');
});

test('a config that cannot be written leaves no files', async () => {
  await using folder = await temporary();
  await writeFile(join(folder.path, 'file'), '');
  const file = join(folder.path, 'file', 'mcp-servers.json');
  await assert.rejects(writeFirstConfig(file, shipped, true), { code: 'EEXIST' });
  const missing = { ...shipped, configFile: '/none/such.json' };
  await assert.rejects(writeFirstConfig(join(folder.path, 'a.json'), missing, true), {
    code: 'ENOENT',
  });
  assert.deepEqual(await readdir(folder.path), ['file']);
});
