import assert from 'node:assert/strict';
import { chmod, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { test } from 'vitest';
import {
  type StoredTokens,
  noTokens,
  readTokenNames,
  readTokens,
  withRevoked,
  withoutExpired,
  writeTokens,
} from '../../hub/access/token-file.ts';
import { openScratchClients } from './scratch.ts';

const [a = '', b = '', c = '', d = '', e = ''] = ['a', 'b', 'c', 'd', 'e'].map(digit =>
  digit.repeat(64),
);
const tokens: StoredTokens = {
  made: new Map([
    ['cursor', { digest: a, createdAt: Date.parse('2026-11-23T12:00:00Z') }],
    [
      'claude-code',
      {
        digest: d,
        createdAt: Date.parse('2026-11-23T12:00:00Z'),
        login: { client: e, expiresAt: Date.parse('2027-02-21T12:00:00Z') },
      },
    ],
  ]),
  configured: new Map([['vscode', b]]),
  revoked: [{ name: 'codex', digest: c }],
};

test('the clients for which the hub made a token are named, none for a missing or damaged file', async () => {
  await using scratch = await openScratchClients();
  const { folder } = scratch;
  assert.deepEqual(await readTokenNames(folder), []);
  await writeTokens(scratch.file, tokens);
  assert.deepEqual(await readTokenNames(folder), ['cursor', 'claude-code']);
  await writeFile(scratch.file, '{');
  assert.deepEqual(await readTokenNames(folder), []);
});

test('a written file is read back, and is readable for this user only', async () => {
  await using scratch = await openScratchClients();
  assert.deepEqual(await readTokens(scratch.file), noTokens);
  await writeTokens(scratch.file, tokens);
  assert.deepEqual(await readTokens(scratch.file), tokens);
  assert.deepEqual(JSON.parse(await readFile(scratch.file, 'utf8')), {
    made: {
      cursor: { sha256: a, created_at: '2026-11-23T12:00:00.000Z' },
      'claude-code': {
        sha256: d,
        created_at: '2026-11-23T12:00:00.000Z',
        login: { client: e, expires_at: '2027-02-21T12:00:00.000Z' },
      },
    },
    configured: { vscode: b },
    revoked: [{ name: 'codex', sha256: c }],
  });
  assert.equal((await stat(scratch.file)).mode & 0o777, 0o600);
  await chmod(scratch.file, 0o644);
  await readTokens(scratch.file);
  assert.equal((await stat(scratch.file)).mode & 0o777, 0o600);
});

test('a symbolic link is refused, and so is a time that is not one', async () => {
  await using scratch = await openScratchClients();
  await writeTokens(scratch.file, tokens);
  const text = await readFile(scratch.file, 'utf8');
  for (const [part, other] of [
    ['2026-11-23', 'yesterday'],
    ['2027-02-21', 'never'],
    [e, 'somebody'],
  ] as const) {
    await writeFile(scratch.file, text.replace(part, other));
    await assert.rejects(readTokens(scratch.file), /does not hold the tokens of clients/);
  }
  await rm(scratch.file);
  await symlink('/dev/null', scratch.file);
  await assert.rejects(readTokens(scratch.file), /is a symbolic link\. Restore it/);
});

test('the tokens of logins that have expired are revoked, and no others', () => {
  const end = Date.parse('2027-02-21T12:00:00Z');
  assert.equal(withoutExpired(tokens, end - 1), tokens);
  const { made, revoked } = withoutExpired(tokens, end);
  assert.deepEqual([...made.keys()], ['cursor']);
  assert.deepEqual(revoked.at(-1), { name: 'claude-code', digest: d });
});

test('revoked tokens are kept once, without the valid ones, and a thousand of them', () => {
  const again = withRevoked(tokens, [{ name: 'codex', digest: c }]);
  assert.deepEqual(again.revoked, tokens.revoked);
  assert.deepEqual(withRevoked({ ...tokens, configured: new Map([['codex', c]]) }, []).revoked, []);
  const many = Array.from({ length: 1_500 }, (_, index) => ({
    name: 'codex',
    digest: index.toString(16).padStart(64, '0'),
  }));
  const { revoked } = withRevoked(tokens, many);
  assert.equal(revoked.length, 1_000);
  assert.deepEqual(revoked.at(-1), many.at(-1));
});
