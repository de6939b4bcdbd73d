import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isSecretFileName, isSecretFolderName } from '#core';

test.each(['.env', '.ENV.local', '.envrc', 'id_rsa', 'server.KEY', 'a.tfstate', '.dockercfg'])(
  'files named %s hold secrets',
  name => assert.ok(isSecretFileName(name)),
);

test.each(['.env.example', '.env.defaults', 'id_rsa.pub', 'a.pem', 'env', 'monkey'])(
  'files named %s hold no secrets, as far as the name says',
  name => assert.ok(!isSecretFileName(name)),
);

test('folders are matched by their whole name', () => {
  assert.ok(['.ssh', '.aws', '.azure', '.gcloud', '.gnupg', '.kube'].every(isSecretFolderName));
  assert.ok(!['ssh', '.github', '.awsome'].some(isSecretFolderName));
});
