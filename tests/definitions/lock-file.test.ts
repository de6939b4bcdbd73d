import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { HubError } from '#core';
import { definitionOf } from '../../hub/definitions/definition.ts';
import { pinsOf } from '../../hub/definitions/compare.ts';
import { changeLock, lockFileOf, readLock } from '../../hub/definitions/lock-file.ts';
import { type Lock, lockText, parseLock } from '../../hub/definitions/lock.ts';

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agenthub-lock-'));
  file = join(folder, 'hub.lock.json');
});
afterEach(() => rm(folder, { recursive: true }));

const tool = (name: string, description: string) => ({
  kind: 'tool' as const,
  name,
  definition: definitionOf(
    'tool',
    Buffer.from(JSON.stringify({ name, description, inputSchema: { type: 'object' } })),
  ),
});

const pinning =
  (server: string, ...names: readonly string[]) =>
  (lock: Lock) =>
    new Map(lock).set(
      server,
      pinsOf(
        'entry',
        names.map(name => tool(name, `${name} of ${server}`)),
      ),
    );

test('the lock file of a config file is beside it', () => {
  assert.equal(lockFileOf('/etc/hub/servers.yaml'), '/etc/hub/servers.lock.json');
});

test('concurrent changes of many writers are all in the file, sorted by name', async () => {
  const names = Array.from({ length: 4 }, (_, index) => `server-${index}`);
  // Each writer tries again if another one was faster.
  const add = async (name: string): Promise<void> =>
    await changeLock(file, pinning(name, 'b', 'a')).then(
      () => undefined,
      async (error: unknown) => {
        if (!(error instanceof HubError) || error.code !== 'HUB_CONFIG_CONFLICT') throw error;
        await add(name);
      },
    );
  for (const name of names.toReversed()) await add(name);
  const inOrder = await readFile(file, 'utf8');
  assert.deepEqual([...(await readLock(file)).keys()], names);
  await rm(file);
  for (const name of names) await add(name);
  assert.equal(await readFile(file, 'utf8'), inOrder);
  assert.deepEqual(await readdir(folder), ['hub.lock.json']);
});

test('a change is applied to what another program wrote between the read and the write', async () => {
  let isFirst = true;
  const written = await changeLock(file, lock => {
    // Another hub writes after this hub has read the file.
    if (isFirst) writeOther();
    isFirst = false;
    return pinning('mine', 'a')(lock);
  });
  assert.deepEqual([...written.keys()].toSorted(), ['mine', 'other']);
  assert.deepEqual(await readLock(file), written);
});

const { writeFileSync } = await import('node:fs');
const writeOther = () => writeFileSync(file, lockText(pinning('other', 'x')(new Map())));

test('a file that does not change is not written', async () => {
  await changeLock(file, pinning('one', 'a'));
  const text = `${await readFile(file, 'utf8')}`;
  await writeFile(file, text);
  await changeLock(file, lock => lock);
  assert.equal(await readFile(file, 'utf8'), text);
});

const good = lockText(pinning('calc', 'add')(new Map()));

test.each([
  ['torn', good.slice(0, good.length / 2), /line \d+|position \d+/],
  ['with marks of a merge', `<<<<<<< HEAD\n${good}`, /JSON/],
  ['of another version', good.replace('"version": 1', '"version": 2'), /"version" is 2/],
  ['with another text', good.replace('add of calc', 'Add'), /servers\.calc\.tools\.add was edited/],
  [
    'with another hash',
    good.replace('sha256-', 'sha256-A'),
    /servers\.calc\.tools\.add was edited/,
  ],
  ['without tools', good.replace('"tools"', '"tool"'), /servers\.calc\.tools is not an object/],
  ['that is a list', '[]', /not an object/],
])(
  'a lock file %s is refused with its path and a remedy, and is not written',
  async (_, text, why) => {
    await writeFile(file, text);
    await assert.rejects(changeLock(file, pinning('other', 'a')), (error: unknown) => {
      assert.ok(error instanceof HubError);
      assert.equal(error.code, 'HUB_LOCK_INVALID');
      assert.match(error.message, why);
      assert.match(error.message, /hub\.lock\.json/);
      assert.match(error.message, /Restore it from version control/);
      return true;
    });
    assert.equal(await readFile(file, 'utf8'), text);
  },
);

test('written pins are read back, including names and rejected definitions', () => {
  const { definition } = tool('__proto__', 'x');
  const lock: Lock = new Map([
    [
      'one',
      {
        entry: 'e',
        pins: {
          tool: new Map([
            ['__proto__', { accepted: definition }],
            ['new', { rejected: ['sha256-x'] }],
          ]),
          prompt: new Map(),
          instructions: new Map([['', { accepted: definition }]]),
        },
      },
    ],
  ]);
  assert.deepEqual(parseLock(lockText(lock), file), lock);
});

test('definitions are the same whatever the order of their members', () => {
  const of = (text: string) => definitionOf('tool', Buffer.from(text)).hash;
  assert.equal(
    of('{"name":"a","inputSchema":{"type":"object","properties":{}},"description":"d"}'),
    of('{"description":"d","inputSchema":{"properties":{},"type":"object"},"name":"a"}'),
  );
  assert.notEqual(of('{"description":"d"}'), of('{"description":"d "}'));
  // Clients that ignore the case of member names read `Description` as `description`.
  assert.notEqual(of('{"description":"d"}'), of('{"description":"d","Description":"e"}'));
  const deep = `{"inputSchema":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  assert.notEqual(of(deep), of(`${deep} `));
});

describe('a lock file that is not a regular file', () => {
  const invalid = { code: 'HUB_LOCK_INVALID' };

  test('is not read if it is a folder, a pipe, or too large', async () => {
    const asFolder = join(folder, 'folder.lock.json');
    await mkdir(asFolder);
    const asPipe = join(folder, 'pipe.lock.json');
    execFileSync('mkfifo', [asPipe]);
    const large = join(folder, 'large.lock.json');
    await writeFile(large, '{}');
    await truncate(large, 256 * 2 ** 20 + 1);
    for (const other of [asFolder, asPipe, large]) {
      await assert.rejects(readLock(other), invalid);
      await assert.rejects(changeLock(other, pinning('calc', 'a')), invalid);
    }
  });

  test('is written at the target of a link, and stays a link', async () => {
    const target = join(folder, 'target.json');
    const link = join(folder, 'link.lock.json');
    await symlink(target, link);
    await changeLock(link, pinning('calc', 'a'));
    assert.ok((await lstat(link)).isSymbolicLink());
    assert.deepEqual([...(await readLock(target)).keys()], ['calc']);
    const loop = join(folder, 'loop.lock.json');
    await symlink(loop, loop);
    await assert.rejects(readLock(loop), invalid);
  });

  test('is not replaced if its folder cannot be written, and the caller gets an error', async () => {
    const place = join(folder, 'no-folder');
    await writeFile(place, '');
    await assert.rejects(changeLock(join(place, 'hub.lock.json'), pinning('calc', 'a')), {
      code: /^HUB_(?:CONFIG_UNWRITABLE|LOCK_INVALID)$/,
    });
  });
});
