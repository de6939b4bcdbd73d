import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadConfig, mountWarnings } from '#config';

describe.skipIf(process.platform !== 'linux')('mountWarnings', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'agenthub-mounts-'));
    mkdirSync(join(folder, 'notes'));
    // Only root can change the owner of a folder. Any other user either is not user 1000, or owns the folder.
    if (process.getuid?.() === 0) chownSync(join(folder, 'notes'), 4_321, 4_321);
    chmodSync(join(folder, 'notes'), 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function warned(entry: object): Promise<readonly string[]> {
    const file = join(folder, 'hub.json');
    writeFileSync(file, JSON.stringify({ servers: { files: { package: 'a@1.0.0', ...entry } } }));
    const { servers } = await loadConfig(file, { env: {}, home: '/home/user' });
    return await mountWarnings(servers);
  }
  const notes = (mode: 'ro' | 'rw') => [`${folder}/notes:/notes:${mode}`];

  test('warn of a writable mount that the user of a package cannot write to', async context => {
    const { uid, gid } = statSync(join(folder, 'notes'));
    context.skip(uid === 1_000, 'the tests run as user 1000');
    assert.deepEqual(await warned({ mounts: notes('rw') }), [
      `files: it runs as user 1000, who cannot write to ${folder}/notes, which belongs to ${uid}:${gid}. Allow it with "setfacl -R -m u:1000:rwX ${folder}/notes", or add "user": "${uid}:${gid}" to its entry`,
    ]);
    assert.equal((await warned({ mounts: notes('rw'), user: '77:77' })).length, 1);
  });

  test.each([
    ['it is read only', { mounts: ['notes:/notes:ro'] }],
    ['its owner is the user', { user: 'owner' }],
    ['the server is root', { user: '0:0' }],
    ['the user has a name', { user: 'node' }],
    ['the user of an image is unknown', { package: undefined, image: 'files:1' }],
    ['the server is no container', { runtime: 'process' }],
    ['the server is disabled', { enabled: false }],
  ])('are empty if %s', async (_, entry) => {
    const { uid, gid } = statSync(join(folder, 'notes'));
    const user = 'user' in entry && entry.user === 'owner' && { user: `${uid}:${gid}` };
    assert.deepEqual(await warned({ mounts: notes('rw'), ...entry, ...user }), []);
  });
});
