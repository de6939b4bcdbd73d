import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { readSecretFiles } from '#config';

test('a password may stand in a file that its variable names with _FILE', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-secrets-'));
  const file = join(folder.path, 'key');
  await writeFile(file, 'secret\n');
  const env = { QDRANT_API_KEY_FILE: file, REDIS_PASSWORD_FILE: file, OTHER: 'x' };
  const read = await readSecretFiles(env);
  assert.deepEqual(read, { ...env, QDRANT_API_KEY: 'secret', REDIS_PASSWORD: 'secret' });
  await assert.rejects(readSecretFiles({ ...env, QDRANT_API_KEY: 'secret' }), {
    code: 'HUB_CONFIG_INVALID',
    message: /QDRANT_API_KEY_FILE: QDRANT_API_KEY is set as well/,
  });
  await writeFile(file, '\n');
  await assert.rejects(readSecretFiles(env), { message: /REDIS_PASSWORD_FILE: .*key" is empty/ });
  await assert.rejects(readSecretFiles({ REDIS_PASSWORD_FILE: join(folder.path, 'absent') }), {
    message: /REDIS_PASSWORD_FILE: .*absent" cannot be read \(ENOENT/,
  });
});
