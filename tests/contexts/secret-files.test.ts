import assert from 'node:assert/strict';
import { test } from 'vitest';
import { holdsPrivateKey, isSecretFile } from '../../hub/contexts/secret-files.ts';

test.for([
  '.env',
  '.env.local',
  '.ENV',
  '.envrc',
  '.npmrc',
  '.netrc',
  'id_ed25519',
  'server.key',
  'terraform.tfstate',
  'office.ovpn',
  '.dockercfg',
  '.ssh',
  '.aws',
])('%s never becomes part of an image', name => assert.ok(isSecretFile(name)));

test.for([
  '.env.example',
  'env',
  'environment.ts',
  'id_rsa.pub',
  'keys.ts',
  'monkey',
  '.github',
  'a.pem',
])('%s may become part of an image', name => assert.ok(!isSecretFile(name)));

test('a .pem file is secret only if it has a private key', () => {
  const key = Buffer.from(`-----BEGIN ${'EC PRIVATE'} KEY-----\n`);
  assert.ok(holdsPrivateKey('a.pem', key));
  assert.ok(!holdsPrivateKey('a.pem', Buffer.from('-----BEGIN CERTIFICATE-----\n')));
  assert.ok(!holdsPrivateKey('a.txt', key));
});
