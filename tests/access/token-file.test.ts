import assert from 'node:assert/strict';
import { chmod, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { test } from 'vitest';
import {
  type StoredTokens,
  noTokens,
  readTokens,
  withRevoked,
  writeTokens,
} from '../../hub/access/token-file.ts';
import { openScratchClients } from './scratch.ts';

const [a = '', b = '', c = ''] = ['a', 'b', 'c'].map(digit => digit.repeat(64));
const tokens: StoredTokens = {
  made: new Map([['cursor', { digest: a, createdAt: Date.parse('2026-11-23T12:00:00Z') }]]),
  configured: new Map([['vscode', b]]),
  revoked: [{ name: 'codex', digest: c }],
};

test('what is written is read again, in a file for this user only', async () => {
  await using scratch = await openScratchClients();
  assert.deepEqual(await readTokens(scratch.file), noTokens);
  await writeTokens(scratch.file, tokens);
  assert.deepEqual(await readTokens(scratch.file), tokens);
  assert.deepEqual(JSON.parse(await readFile(scratch.file, 'utf8')), {
    made: { cursor: { sha256: a, created_at: '2026-11-23T12:00:00.000Z' } },
    configured: { vscode: b },
    revoked: [{ name: 'codex', sha256: c }],
  });
  assert.equal((await stat(scratch.file)).mode & 0o777, 0o600);
  await chmod(scratch.file, 0o644);
  await readTokens(scratch.file);
  assert.equal((await stat(scratch.file)).mode & 0o777, 0o600);
});

test('a link is refused, and a time that is none', async () => {
  await using scratch = await openScratchClients();
  await writeTokens(scratch.file, tokens);
  const text = await readFile(scratch.file, 'utf8');
  await writeFile(scratch.file, text.replace('2026-11-23', 'yesterday'));
  await assert.rejects(readTokens(scratch.file), /does not hold the tokens of clients/);
  await rm(scratch.file);
  await symlink('/dev/null', scratch.file);
  await assert.rejects(readTokens(scratch.file), /is a symbolic link\. Restore it/);
});

test('revoked tokens are kept once, without the valid ones, and a thousand of them', () => {
  const again = withRevoked(tokens, [{ name: 'codex', digest: c }], () => false);
  assert.deepEqual(again.revoked, tokens.revoked);
  assert.deepEqual(withRevoked(tokens, [], digest => digest === c).revoked, []);
  const many = Array.from({ length: 1_500 }, (_, index) => ({
    name: 'codex',
    digest: index.toString(16).padStart(64, '0'),
  }));
  const { revoked } = withRevoked(tokens, many, () => false);
  assert.equal(revoked.length, 1_000);
  assert.deepEqual(revoked.at(-1), many.at(-1));
});
