import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { test } from 'vitest';
import { type ImportSelection, createClients } from '#clients';
import { writeWhole } from '#store';
import { createImportRecords } from '../../hub/clients/import-record.ts';
import { type Scratch, hub, openScratch } from './machine.ts';

const client = `{"mcpServers": {"one": {"command": "npx", "args": ["@a/one@1.0.0"], "env": {"KEY": "sk-planted0123456789"}}}}\n`;

/** Creates clients whose writes fail after the first few, or of some files, as after a kill or on a full disk. */
function failingAfter(
  scratch: Scratch,
  writes: number,
  isUnwritable: (file: string) => boolean = () => false,
) {
  let left = writes;
  return createClients({
    machine: scratch.machine,
    async writeWhole(file, text, check) {
      if (left-- <= 0 || isUnwritable(file))
        throw Object.assign(new Error('killed'), { code: 'EIO' });
      await writeWhole(file, text, check);
    },
    readOptions: async () => ({
      env: parseEnv(await readFile(join(scratch.home, '.env'), 'utf8')),
      home: scratch.home,
    }),
    recordsFolder: async () => scratch.records,
    now: () => 0,
    openSecrets: async () => assert.fail('no secret is stored'),
  });
}

const wanted: ImportSelection = { names: ['cursor'], scopes: ['user'], paths: [] };

async function prepare(scratch: Scratch) {
  await scratch.put('.cursor/mcp.json', client);
  const config = await scratch.put('hub.json', '{"servers": {}} // mine\n');
  return { config, dotenv: await scratch.put('.env', 'MINE=1\n') };
}

// Order of the writes: the record, .env, the config, the record again, the client's file, the record with its backup.
test.for([0, 1, 2, 3, 4, 5, 6])(
  'an import that ends after %i writes is undone to the byte',
  async writes => {
    await using scratch = await openScratch();
    const files = await prepare(scratch);
    const before = await scratch.files();
    const failing = failingAfter(scratch, writes);
    const work = async () => {
      const plan = await failing.planImport(await failing.find(wanted), files, hub);
      const done = await failing.carryOutImport(plan, files);
      await done.removeFromClients(plan.items);
    };
    if (writes < 6) await assert.rejects(work());
    else await work();
    const again = failingAfter(scratch, 100);
    // After one write only the record is on disk, and the import removes it itself.
    const undone = await again.undoImport();
    assert.equal(undone?.added.length, writes <= 1 ? undefined : 1);
    const after = await scratch.files();
    // A backup whose path was not recorded stays beside the file.
    assert.deepEqual(
      Object.fromEntries(Object.entries(after).filter(([path]) => !path.includes('-backup-'))),
      before,
    );
    assert.equal((await again.find(wanted)).servers.length, 1);
  },
);

test('an import is not undone at all if a file was changed since', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const clients = failingAfter(scratch, 100);
  const plan = await clients.planImport(await clients.find(wanted), files, hub);
  await clients.carryOutImport(plan, files);
  await scratch.put('.env', 'MINE=2\n');
  const before = await scratch.files();
  await assert.rejects(clients.undoImport(), {
    code: 'HUB_CONFIG_CONFLICT',
    message: /\.env: changed after the import.*"agenthub remove one"/,
  });
  assert.deepEqual(await scratch.files(), before);
  await rm(files.dotenv);
  await assert.rejects(clients.undoImport(), { code: 'HUB_CONFIG_CONFLICT' });
});

test('imports are undone one after another, the newest first', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const first = await scratch.files();
  const clients = failingAfter(scratch, 100);
  const importAll = async () =>
    await clients.carryOutImport(
      await clients.planImport(await clients.find(wanted), files, hub),
      files,
    );
  await importAll();
  const second = await scratch.files();
  await scratch.put('.cursor/mcp.json', client.replaceAll('one', 'two'));
  await importAll();
  assert.deepEqual((await clients.undoImport())?.added, ['two']);
  await scratch.put('.cursor/mcp.json', client);
  assert.deepEqual(await scratch.files(), second);
  assert.deepEqual((await clients.undoImport())?.added, ['one']);
  assert.deepEqual(await scratch.files(), first);
  assert.equal(await clients.undoImport(), undefined);
});

test('imports at the same moment have a record each', async () => {
  await using scratch = await openScratch();
  const change = (name: string) => [{ file: join(scratch.home, name), before: 'a', after: 'b' }];
  const records = (write: typeof writeWhole) =>
    createImportRecords({ folder: async () => scratch.records, writeWhole: write, now: () => 0 });
  const other = records(writeWhole);
  let isFirst = true;
  await records(async (file, text, check) => {
    if (isFirst) await other.begin(['second'], change('two'));
    isFirst = false;
    await writeWhole(file, text, check);
  }).begin(['first'], change('one'));
  for (const name of ['one', 'two']) await scratch.put(name, 'b');
  const undone = [await other.undo(async () => {}), await other.undo(async () => {})];
  assert.deepEqual(new Set(undone.flatMap(each => each?.added)), new Set(['first', 'second']));
  assert.deepEqual(await scratch.files(), { one: 'a', two: 'a' });
});

/** Creates clients for which another program changes a file just before they write it. */
function disturbedAt(scratch: Scratch, file: string, text: string) {
  return createClients({
    machine: scratch.machine,
    writeWhole: async (path, written, check) =>
      await writeWhole(path, written, async () => {
        if (path === file) await writeFile(file, text);
        await check();
      }),
    readOptions: async () => ({ env: {}, home: scratch.home }),
    recordsFolder: async () => scratch.records,
    now: () => 0,
    openSecrets: async () => assert.fail('no secret is stored'),
  });
}

test('an import that fails because another program changes the config leaves neither keys nor a record', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const before = await scratch.files();
  const changed = '{"servers": {"theirs": {"package": "@b/theirs@1.0.0"}}}\n';
  const clients = disturbedAt(scratch, files.config, changed);
  const plan = await clients.planImport(await clients.find(wanted), files, hub);
  await assert.rejects(clients.carryOutImport(plan, files), { code: 'HUB_CONFIG_CONFLICT' });
  assert.deepEqual(await scratch.files(), { ...before, 'hub.json': changed });
  assert.equal(await clients.undoImport(), undefined);
});

test('an import that cannot write its first file leaves the import before it as it is', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const clients = failingAfter(scratch, 100);
  const planAll = async () => await clients.planImport(await clients.find(wanted), files, hub);
  await clients.carryOutImport(await planAll(), files);
  await scratch.put('.cursor/mcp.json', client.replaceAll('one', 'two'));
  const before = await scratch.files();
  const full = failingAfter(scratch, 100, path => path === files.dotenv);
  await assert.rejects(full.carryOutImport(await planAll(), files), /killed/);
  assert.deepEqual(await scratch.files(), before);
  assert.deepEqual((await clients.undoImport())?.added, ['one']);
});

test('an import is undone although the file of a client was not written, as another program changed it', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const before = await scratch.files();
  const changed = client.replace('{', '{"theirs": 1, ');
  const clients = disturbedAt(scratch, join(scratch.home, '.cursor/mcp.json'), changed);
  const plan = await clients.planImport(await clients.find(wanted), files, hub);
  const done = await clients.carryOutImport(plan, files);
  await assert.rejects(done.removeFromClients(plan.items), { code: 'HUB_CONFIG_CONFLICT' });
  assert.deepEqual((await clients.undoImport())?.added, ['one']);
  assert.deepEqual(await scratch.files(), { ...before, '.cursor/mcp.json': changed });
});

test('an import that changes no file leaves no record, so that an undo undoes the import before it', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const before = await scratch.files();
  const clients = failingAfter(scratch, 100);
  const importAll = async () => {
    const plan = await clients.planImport(await clients.find(wanted), files, hub);
    return { plan, ...(await clients.carryOutImport(plan, files)) };
  };
  await importAll();
  const again = await importAll();
  assert.deepEqual(again.added, []);
  // No server runs in the hub yet, so all servers stay in the clients' files.
  await again.removeFromClients([]);
  assert.deepEqual((await clients.undoImport())?.added, ['one']);
  assert.deepEqual(await scratch.files(), before);
});

test('an import whose only file could not be written leaves no record', async () => {
  await using scratch = await openScratch();
  const files = await prepare(scratch);
  const importing = failingAfter(scratch, 100);
  await importing.carryOutImport(
    await importing.planImport(await importing.find(wanted), files, hub),
    files,
  );
  const changed = client.replace('{', '{"theirs": 1, ');
  const clients = disturbedAt(scratch, join(scratch.home, '.cursor/mcp.json'), changed);
  const plan = await importing.planImport(await importing.find(wanted), files, hub);
  const done = await clients.carryOutImport(plan, files);
  await assert.rejects(done.removeFromClients(plan.items), { code: 'HUB_CONFIG_CONFLICT' });
  assert.deepEqual((await importing.newestImport())?.added, ['one']);
});
