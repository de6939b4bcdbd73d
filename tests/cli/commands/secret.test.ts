import assert from 'node:assert/strict';
import { test } from 'vitest';
import { run } from '../run.ts';

test.for([
  [['set'], /write "agenthub secret list"/],
  [['list', 'A'], /write "agenthub secret list"/],
  [['set', 'A', '--store', 'cloud'], /"cloud" is not allowed: write "keychain" or "file"/],
] as const)('%j is refused with what to do, and opens no secrets', async ([args, message]) => {
  const { code, out, err } = await run(['secret', ...args], {}, { input: 'x' });
  assert.deepEqual({ code, out }, { code: 2, out: '' });
  assert.match(err, message);
});
