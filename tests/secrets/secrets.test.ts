import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { writeWhole } from '#store';
import { secretsFolder } from './files.ts';

/** Creates a keychain in memory, which can be locked. */
function memoryKeychain() {
  const entries = new Map<string, string>();
  const state = { isLocked: false, loads: 0, reads: 0 };
  const access = <T>(use: () => T): Promise<T> =>
    state.isLocked
      ? Promise.reject(new Error('unlock prompt was dismissed'))
      : Promise.resolve(use());
  class AsyncEntry {
    readonly key: string;
    constructor(service: string, name: string) {
      this.key = `${service}/${name}`;
    }
    getPassword = () => {
      state.reads++;
      return access(() => entries.get(this.key) ?? null);
    };
    setPassword = (value: string) => access(() => void entries.set(this.key, value));
    deleteCredential = () => access(() => entries.delete(this.key));
  }
  const load = async () => {
    state.loads++;
    return { AsyncEntry };
  };
  return { entries, state, load };
}

type Opened = ReturnType<Awaited<ReturnType<typeof secretsFolder>>['open']>;
const read = async (secrets: Opened, name = 'KEY') => (await secrets.read([name])).get(name);

describe('sources', () => {
  test('are a mounted file, then a named file, the keychain and the encrypted file', async () => {
    await using folder = await secretsFolder();
    const { load, state } = memoryKeychain();
    const named = join(folder.path, 'named.txt');
    const secrets = folder.open({ env: { KEY_FILE: named }, load });
    const missing = `secret KEY cannot be read: KEY_FILE names ${named}, and there is no such file`;
    assert.deepEqual(await read(secrets), { source: 'mounted', fault: missing });
    await secrets.set('KEY', 'of the file', 'file');
    const ofFile = { source: 'file', value: 'of the file' };
    assert.deepEqual(await read(folder.open()), ofFile);
    await secrets.set('KEY', 'of the keychain');
    const ofKeychain = { source: 'keychain', value: 'of the keychain' };
    assert.deepEqual(await read(folder.open({ load })), ofKeychain);
    await writeFile(named, 'named\r\n');
    const { loads } = state;
    assert.deepEqual(await read(secrets), { source: 'mounted', value: 'named' });
    await mkdir(folder.mounted);
    await writeFile(join(folder.mounted, 'KEY'), 'mounted\n\n');
    assert.deepEqual(await read(secrets), { source: 'mounted', value: 'mounted\n' });
    assert.equal(state.loads, loads, 'the keychain is not loaded for a secret that comes earlier');
    assert.deepEqual(secrets.known(), ['mounted\n', 'named']);
  });

  test('replace a secret that is stored in the other store', async () => {
    await using folder = await secretsFolder();
    const { load, entries } = memoryKeychain();
    const secrets = folder.open({ load });
    assert.deepEqual(await secrets.set('KEY', 'one'), { store: 'keychain', why: undefined });
    assert.equal(entries.size, 1);
    assert.deepEqual(await secrets.set('KEY', 'two', 'file'), { store: 'file', why: undefined });
    assert.equal(entries.size, 0);
    assert.deepEqual(await read(secrets), { source: 'file', value: 'two' });
    assert.equal(await secrets.remove('KEY'), true);
    assert.equal(await secrets.remove('KEY'), false);
    assert.equal(await read(secrets), undefined);
  });

  test('do not remove a secret in an unreachable keychain, and the error has a remedy', async () => {
    await using folder = await secretsFolder();
    const { load, entries } = memoryKeychain();
    await folder.open({ load }).set('KEY', 'value');
    const away = folder.open();
    await assert.rejects(away.remove('KEY'), {
      code: 'HUB_CONFIG_INVALID',
      message:
        'KEY is in the keychain, and there is no usable keychain (there is no module): nothing was removed. Try again where it can be used. To give up the value there: agenthub secret set KEY --store file, and remove it then',
    });
    assert.deepEqual(await read(folder.open({ load })), { source: 'keychain', value: 'value' });
    await away.set('KEY', 'x', 'file');
    assert.equal(await away.remove('KEY'), true);
    assert.equal(entries.size, 1, 'given up');
  });

  test('keep a secret in the keychain that cannot be moved to the file', async () => {
    await using folder = await secretsFolder();
    const { load, state } = memoryKeychain();
    const secrets = folder.open({ load });
    await secrets.set('OTHER', 'other', 'file');
    await secrets.set('KEY', 'old');
    const before = await readFile(folder.file, 'utf8');
    const full = folder.open({ load, write: () => Promise.reject(new Error('ENOSPC')) });
    await assert.rejects(full.set('KEY', 'new', 'file'), /ENOSPC/);
    assert.deepEqual(await read(secrets), { source: 'keychain', value: 'old' });
    state.isLocked = true;
    await assert.rejects(secrets.set('KEY', 'new', 'file'), /the keychain is locked/);
    assert.equal(await readFile(folder.file, 'utf8'), before);
    state.isLocked = false;
    // A hub that ends after it has removed the entry from the keychain.
    let writes = 0;
    const ended = folder.open({
      load,
      write: async (...args) => {
        if (writes++ > 0) throw new Error('ended');
        await writeWhole(...args);
      },
    });
    await assert.rejects(ended.set('KEY', 'new', 'file'), /ended/);
    assert.deepEqual(await read(secrets), { source: 'file', value: 'new' });
  });

  test('use the file without a usable keychain, and the answer says why', async () => {
    await using folder = await secretsFolder();
    const { load, state } = memoryKeychain();
    state.isLocked = true;
    const secrets = folder.open({ load });
    const why = 'the keychain is locked (unlock prompt was dismissed): unlock it';
    assert.deepEqual(await secrets.set('A', 'value'), { store: 'file', why });
    await assert.rejects(secrets.set('A', 'x', 'keychain'), /is locked .* Or write --store file/);
    assert.match((await folder.open().set('A', 'x')).why ?? '', /^there is no usable keychain/);
  });
});

test('the names of stored secrets are read without the keychain, and without those of the hub itself', async () => {
  await using folder = await secretsFolder();
  const { load, state } = memoryKeychain();
  const secrets = folder.open({ load });
  await secrets.set('IN_CHAIN', 'value 1');
  await secrets.set('IN_FILE', 'value 2', 'file');
  await secrets.own.write('.oauth.one', 'value 3');
  await mkdir(folder.mounted);
  await writeFile(join(folder.mounted, 'MOUNTED'), 'value 4');
  const { reads } = state;
  assert.deepEqual(await secrets.stored(), ['IN_CHAIN', 'IN_FILE']);
  assert.equal(state.reads, reads);
});

test('a list has every secret, and unreadable ones with the reason', async () => {
  await using folder = await secretsFolder();
  const { load, state } = memoryKeychain();
  const secrets = folder.open({ load });
  await secrets.set('IN_CHAIN', 'value 1');
  await secrets.set('IN_FILE', 'value 2', 'file');
  await mkdir(join(folder.mounted, 'FOLDER'), { recursive: true });
  await writeFile(join(folder.mounted, 'EMPTY'), '');
  state.isLocked = true;
  const uses = [
    { secret: 'IN_FILE', server: 'one', path: 'servers.one.env.A' },
    { secret: 'NOPE', path: 'token' },
    { secret: 'OPTIONAL', path: 'servers.one.env.B', hasDefault: true },
  ];
  assert.deepEqual(await secrets.list(uses), [
    {
      name: 'EMPTY',
      state: 'unreadable',
      source: 'mounted',
      reason: `secret EMPTY cannot be read: ${join(folder.mounted, 'EMPTY')} is empty`,
      used_by: [],
    },
    {
      name: 'IN_CHAIN',
      state: 'unreadable',
      source: 'keychain',
      reason:
        'secret IN_CHAIN cannot be read: the keychain is locked (unlock prompt was dismissed): unlock it, and run agenthub reload',
      used_by: [],
    },
    {
      name: 'IN_FILE',
      state: 'readable',
      source: 'file',
      used_by: [{ server: 'one', path: 'servers.one.env.A' }],
    },
    {
      name: 'NOPE',
      state: 'missing',
      reason: 'secret NOPE is not set. Run agenthub secret set NOPE',
      used_by: [{ path: 'token' }],
    },
    {
      name: 'OPTIONAL',
      state: 'missing',
      reason: 'not set: the config has a default',
      used_by: [{ path: 'servers.one.env.B' }],
    },
  ]);
});

test('a keychain that was locked meanwhile asks its user once for all secrets', async () => {
  await using folder = await secretsFolder();
  const { load, state } = memoryKeychain();
  const secrets = folder.open({ load });
  const names = ['A', 'B', 'C'];
  for (const name of names) await secrets.set(name, `value of ${name}`);
  Object.assign(state, { isLocked: true, reads: 0 });
  const found = await secrets.read(names);
  assert.equal(state.reads, 1);
  for (const name of names) {
    const reading = found.get(name);
    assert.ok(reading && 'fault' in reading);
    assert.match(
      reading.fault,
      new RegExp(`^secret ${name} cannot be read: the keychain is locked`),
    );
  }
  state.isLocked = false;
  assert.deepEqual(
    [...(await secrets.read(names)).values()].map(one => 'value' in one),
    [true, true, true],
  );
});

test('a mounted file that is not UTF-8 is unreadable, as its value would be wrong', async () => {
  await using folder = await secretsFolder();
  await mkdir(folder.mounted);
  const file = join(folder.mounted, 'KEY');
  await writeFile(file, 'schl\u00fcssel', 'latin1');
  const fault = `secret KEY cannot be read: ${file} is not UTF-8. Save it as UTF-8`;
  assert.deepEqual(await read(folder.open()), { source: 'mounted', fault });
});

test('a secret named like a member of Object.prototype is like any other', async () => {
  await using folder = await secretsFolder();
  const secrets = folder.open();
  assert.equal(await secrets.remove('constructor'), false);
  await secrets.set('constructor', 'value', 'file');
  assert.deepEqual(await read(folder.open(), 'constructor'), { source: 'file', value: 'value' });
  assert.equal(await secrets.remove('constructor'), true);
});

test.for(['', '.', '../x', '__proto__', 'a b', 'A=secret', 'a'.repeat(129)])(
  '%j is not a name',
  async name => {
    await using folder = await secretsFolder();
    const secrets = folder.open();
    const rule = { code: 'HUB_USAGE', message: /^the name of a secret has 1 to 128 letters/ };
    await assert.rejects(secrets.set(name, 'value'), rule);
    await assert.rejects(secrets.remove(name), rule);
  },
);

test("changed values of the hub's own secrets stay known, and displace no others", async () => {
  await using folder = await secretsFolder();
  const secrets = folder.open();
  await secrets.set('KEY', 'of a server', 'file');
  await read(secrets);
  const before = secrets.known();
  for (let round = 0; round < 3_000; round++)
    secrets.own.remember('docs', [`access-${round}`, `refresh-${round}`]);
  assert.notEqual(secrets.known(), before);
  secrets.own.remember('docs', ['refresh-2999', 'access-2999']);
  assert.deepEqual(secrets.known().toSorted(), [
    'access-2998',
    'access-2999',
    'of a server',
    'refresh-2998',
    'refresh-2999',
  ]);
});
