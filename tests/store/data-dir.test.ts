import assert from 'node:assert/strict';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, test } from 'vitest';
import {
  announceRunning,
  checkDataDir,
  findHubId,
  findRunning,
  openDataDir,
  writeWhole,
} from '#store';
import { mount, mountProblem } from '../faults/small-disk.ts';

/** Creates a temporary folder, which is removed when disposed. */
async function temporary() {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-data-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

const newId = () => 'abcdef0123456789';

describe('the data folder', () => {
  test('is created if it is absent, for its owner only, and keeps the id of the hub', async () => {
    await using folder = await temporary();
    const path = join(folder.path, 'deep', 'data');
    {
      await using data = await openDataDir(path, newId);
      assert.equal(data.hubId, newId());
      assert.equal((await stat(path)).mode & 0o777, 0o700);
    }
    await using again = await openDataDir(path, () => 'another0another0');
    assert.equal(again.hubId, newId());
  });

  test('has an absolute path, which containers can mount, even if DATA_DIR is relative', async () => {
    await using folder = await temporary();
    const path = join(folder.path, 'data');
    await using data = await openDataDir(relative(process.cwd(), path), newId);
    assert.equal(data.path, path);
  });

  test('is locked by one hub at a time, and free once that is disposed', async () => {
    await using folder = await temporary();
    const first = await openDataDir(folder.path, newId);
    await assert.rejects(openDataDir(folder.path, newId), {
      code: 'HUB_DATA_LOCKED',
      message: /another hub is running with .*DATA_DIR and ROUTER_PORT of its own/,
    });
    await first[Symbol.asyncDispose]();
    await using _ = await openDataDir(folder.path, newId);
  });

  test('is free again when the process that locked it was killed', async () => {
    await using folder = await temporary();
    const program = join(folder.path, 'hold.mjs');
    await writeFile(
      program,
      `import { DatabaseSync } from 'node:sqlite';
       const lock = new DatabaseSync(process.argv[2]);
       lock.exec('BEGIN EXCLUSIVE');
       process.send('held');
       setInterval(() => {}, 1000);`,
    );
    const holder = fork(program, [join(folder.path, 'hub.lock')]);
    await once(holder, 'message');
    await assert.rejects(openDataDir(folder.path, newId), { code: 'HUB_DATA_LOCKED' });
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await using _ = await openDataDir(folder.path, newId);
  });

  test('is locked although a command reads the lock file at that moment', async () => {
    await using folder = await temporary();
    await (await openDataDir(folder.path, newId))[Symbol.asyncDispose]();
    const program = join(folder.path, 'read.mjs');
    await writeFile(
      program,
      `import { DatabaseSync } from 'node:sqlite';
       const lock = new DatabaseSync(process.argv[2], { readOnly: true });
       lock.exec('BEGIN');
       lock.exec('SELECT 1 FROM sqlite_master');
       process.send('read');
       setTimeout(() => { lock.close(); process.disconnect(); }, 50);`,
    );
    const reader = fork(program, [join(folder.path, 'hub.lock')]);
    await once(reader, 'message');
    await using _ = await openDataDir(folder.path, newId);
  });

  test('that cannot be used is reported with the reason, and not as locked', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    await assert.rejects(openDataDir(file, newId), {
      code: 'HUB_CONFIG_INVALID',
      message: /^DATA_DIR: ".*file" cannot be used/,
    });
    const strange = join(folder.path, 'strange');
    await mkdir(strange);
    await writeFile(join(strange, 'hub.lock'), 'this is no database, and never was one'.repeat(50));
    await assert.rejects(openDataDir(strange, newId), {
      code: 'HUB_CONFIG_INVALID',
      message: /hub\.lock" is not the lock file of a hub .*not a database.* Remove it/,
    });
  });

  test('is refused on a full disk, whether SQLite or the system says so', async ({ skip }) => {
    const unmountable = await mountProblem();
    if (unmountable !== undefined) return skip(unmountable);
    await using folder = await temporary();
    await using disk = await mount(folder.path, '64k');
    const path = join(folder.path, 'data');
    for (const left of [0, 4_096]) {
      await disk.free();
      await rm(path, { recursive: true, force: true });
      await mkdir(path);
      await writeFile(join(folder.path, 'kept'), Buffer.alloc(left));
      await disk.fill();
      await rm(join(folder.path, 'kept'));
      await assert.rejects(openDataDir(path, newId), {
        code: 'HUB_CONFIG_INVALID',
        message: /cannot be used \(.*(?:full|no space).*\)\. Make room on its disk/,
      });
    }
  });

  test('is checked without being made or locked', async () => {
    await using folder = await temporary();
    const path = join(folder.path, 'deep', 'data');
    await checkDataDir(path);
    assert.deepEqual(await readdir(folder.path), []);
    await using _ = await openDataDir(path, newId);
    await checkDataDir(path);
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    for (const taken of [file, join(file, 'data')])
      await assert.rejects(checkDataDir(taken), {
        code: 'HUB_CONFIG_INVALID',
        message: /^DATA_DIR: ".*" cannot be used \(.*not a .*\)\. Name a folder/,
      });
    await writeFile(join(path, 'hub-id'), 'short');
    await assert.rejects(checkDataDir(path), { message: /hub-id holds "short"/ });
  });

  test('is checked for a lock file that is no database, and for a damaged key of the owner', async () => {
    await using folder = await temporary();
    const lock = join(folder.path, 'hub.lock');
    await writeFile(lock, '');
    await checkDataDir(folder.path);
    await writeFile(lock, 'this is no database, and never was one'.repeat(50));
    const notLock = /hub\.lock" is not the lock file of a hub .*not a database.* Remove it/;
    await assert.rejects(checkDataDir(folder.path), {
      code: 'HUB_CONFIG_INVALID',
      message: notLock,
    });
    await rm(lock);
    const key = join(folder.path, 'owner-key');
    await writeFile(key, 'short');
    const message = `DATA_DIR: ${JSON.stringify(folder.path)} cannot be used (${key} does not hold a key. Delete it and restart the hub, which makes a new one)`;
    for (const use of [checkDataDir(folder.path), openDataDir(folder.path, newId)])
      await assert.rejects(use, { code: 'HUB_CONFIG_INVALID', message });
    assert.equal(await readFile(key, 'utf8'), 'short');
  });

  test.skipIf(process.getuid?.() === 0)('that is read-only does not pass the check', async () => {
    await using folder = await temporary();
    await chmod(folder.path, 0o500);
    await assert.rejects(checkDataDir(folder.path), { code: 'HUB_CONFIG_INVALID' });
    await assert.rejects(checkDataDir(join(folder.path, 'data')), { code: 'HUB_CONFIG_INVALID' });
  });

  test.for([
    ['', 'nothing'],
    ['abcdef0', '"abcdef0"'],
    ['abcdef01234567', '"abcdef01234567"'],
    ['abcdef012345678\n', '"abcdef012345678"'],
    ['abcdef01234567890', '"abcdef01234567890"'],
  ] as const)(
    'with a hub-id that contains only %j is refused, and the file stays',
    async ([text, shown]) => {
      await using folder = await temporary();
      const file = join(folder.path, 'hub-id');
      await writeFile(file, text);
      await assert.rejects(openDataDir(folder.path, newId), {
        code: 'HUB_CONFIG_INVALID',
        message: new RegExp(`hub-id holds ${shown}, and a hub id has 16 characters: put it back`),
      });
      assert.equal(await readFile(file, 'utf8'), text);
      assert.equal(await findHubId(folder.path), undefined);
    },
  );

  test.skipIf(process.getuid?.() !== 0).for([
    ['a lock that the hub makes', undefined],
    ['a lock that others could read, of an earlier version', 0o644],
    ['a lock that others could write', 0o666],
  ] as const)('is not locked by another user: %s', async ([, mode]) => {
    await using folder = await temporary();
    await chmod(folder.path, 0o755);
    const lock = join(folder.path, 'hub.lock');
    if (mode !== undefined) {
      await writeFile(lock, '');
      await chmod(lock, mode);
    }
    await (await openDataDir(folder.path, newId))[Symbol.asyncDispose]();
    const program = `import { DatabaseSync } from 'node:sqlite';
      try {
        const lock = new DatabaseSync(process.argv[1], { readOnly: true });
        lock.exec('BEGIN');
        lock.prepare('SELECT count(*) FROM sqlite_schema').get();
        process.send('held');
        setInterval(() => {}, 1000);
      } catch (error) {
        process.send(String(error));
        process.disconnect();
      }`;
    const other = spawn(process.execPath, ['--input-type=module', '-e', program, lock], {
      uid: 65_534,
      gid: 65_534,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [said] = await once(other, 'message');
    try {
      assert.match(String(said), /unable to open database file/);
      await using _ = await openDataDir(folder.path, newId);
    } finally {
      other.kill('SIGKILL');
    }
  });

  test.skipIf(process.getuid?.() !== 0)(
    'with a lock of another user says whose it is',
    async () => {
      await using folder = await temporary();
      const lock = join(folder.path, 'hub.lock');
      await writeFile(lock, '');
      await chown(folder.path, 65_534, 65_534);
      // The folder belongs to the other user, but the lock in it does not.
      const program = `import { openDataDir } from ${JSON.stringify(join(import.meta.dirname, '../../hub/store/index.ts'))};
      openDataDir(process.argv[1], () => 'abcdef0123456789').then(
        () => process.send('opened'),
        error => process.send(error.message),
      );`;
      const other = spawn(process.execPath, ['--input-type=module', '-e', program, folder.path], {
        uid: 65_534,
        gid: 65_534,
        cwd: '/',
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      const [said] = await once(other, 'message');
      other.kill('SIGKILL');
      assert.match(String(said), /hub\.lock belongs to user 0, and the hub runs as 65534/);
    },
  );

  test('gets a file completely, with no other file left beside it', async () => {
    await using folder = await temporary();
    const file = join(folder.path, 'note');
    await writeWhole(file, 'one');
    await writeWhole(file, 'two');
    assert.equal(await readFile(file, 'utf8'), 'two');
    assert.deepEqual(await readdir(folder.path), ['note']);
    await assert.rejects(writeWhole(join(folder.path, 'absent', 'note'), 'x'));
  });
});

const hub = { url: 'http://localhost:9090', sockets: ['127.0.0.1:9090'] };

describe('the hub that runs with a data folder', () => {
  test('is found while it has the folder, and neither before it listens nor after it ended', async () => {
    await using folder = await temporary();
    assert.equal(await findRunning(folder.path), undefined);
    {
      await using _ = await openDataDir(folder.path, newId);
      assert.equal(await findRunning(folder.path), undefined);
      await announceRunning(folder.path, hub);
      assert.deepEqual(await findRunning(folder.path), hub);
    }
    assert.equal(await findRunning(folder.path), undefined);
  });

  test('is not found by the note of a killed hub, as another program may have its port', async () => {
    await using folder = await temporary();
    await (await openDataDir(folder.path, newId))[Symbol.asyncDispose]();
    // The process in the file belongs to this user, but the folder is not locked.
    await announceRunning(folder.path, hub);
    assert.equal(await findRunning(folder.path), undefined);
    // A hub holds the lock but does not listen yet.
    await using _ = await openDataDir(folder.path, newId);
    assert.equal(await findRunning(folder.path), undefined);
    // The process named in the file has ended.
    await announceRunning(folder.path, hub);
    const file = join(folder.path, 'hub-running.json');
    const { pid } = spawnSync(process.execPath, ['--version']);
    await writeFile(file, (await readFile(file, 'utf8')).replace(String(process.pid), String(pid)));
    assert.equal(await findRunning(folder.path), undefined);
  });

  test.for(['', 'null', '[]', '{"pid":1}', '{"url":"x","sockets":[],"pid":-1}', '{"url":1'])(
    'is not found if the file contains %s',
    async text => {
      await using folder = await temporary();
      await using _ = await openDataDir(folder.path, newId);
      await writeFile(join(folder.path, 'hub-running.json'), text);
      assert.equal(await findRunning(folder.path), undefined);
    },
  );

  test("has an owner's key, which stays the same over restarts", async () => {
    await using folder = await temporary();
    const open = async () => {
      await using data = await openDataDir(folder.path, newId);
      return data.ownerKey;
    };
    const key = await open();
    assert.match(key, /^[\w-]{43}$/);
    assert.equal(await open(), key);
    assert.equal((await readFile(join(folder.path, 'owner-key'), 'utf8')).trim(), key);
  });
});
