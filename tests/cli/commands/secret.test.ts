import assert from 'node:assert/strict';
import { test } from 'vitest';
import { secretsFolder } from '../../secrets/files.ts';
import { run } from '../run.ts';

test.for([
  [['set'], /write "agenthub secret list"/],
  [['list', 'A'], /write "agenthub secret list"/],
  [['set', 'A', '--store', 'cloud'], /"cloud" is not allowed: write "keychain" or "file"/],
] as const)('%j is refused with a hint, and does not open the secrets', async ([args, message]) => {
  const { code, out, err } = await run(['secret', ...args], {}, { input: 'x' });
  assert.deepEqual({ code, out }, { code: 2, out: '' });
  assert.match(err, message);
});

test('an invalid name is refused before the value is asked for', async () => {
  await using folder = await secretsFolder();
  const ask = async () => assert.fail('asked');
  const needs = { openSecrets: async () => folder.open(), ask };
  const { code, err } = await run(['secret', 'set', 'a b'], needs);
  assert.equal(code, 2);
  assert.match(err, /the name of a secret has 1 to 128 letters, digits/);
});

test.for([
  ['Latin-1', Buffer.from('p\u00e4ssword', 'latin1'), /stdin: it is not UTF-8, but Latin-1/],
  [
    'UTF-16',
    Buffer.from('\uFEFFpassword', 'utf16le'),
    /stdin: it is in UTF-16, .* Save it as UTF-8/,
  ],
] as const)('a value in %s is refused', async ([, input, message]) => {
  await using folder = await secretsFolder();
  const secrets = folder.open();
  const args = ['secret', 'set', 'A', '--store', 'file'];
  const { code, err } = await run(args, { openSecrets: async () => secrets }, { input });
  assert.equal(code, 2);
  assert.match(err, message);
  assert.deepEqual(await secrets.stored(), []);
});
