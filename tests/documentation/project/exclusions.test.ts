import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  excludedByContent,
  excludedByName,
} from '../../../hub/documentation/project/exclusions.ts';

test.each([
  ['.env', 'secret'],
  ['app/.env.production', 'secret'],
  ['.env.example', undefined],
  ['.env.local.template', undefined],
  ['.env.defaults', 'secret'],
  ['.envrc', 'secret'],
  ['web/.yarnrc.yml', 'secret'],
  ['.azure/accessTokens.json', 'secret'],
  ['key.asc', 'secret'],
  ['deploy/id_ed25519', 'secret'],
  ['deploy/id_ed25519.pub', undefined],
  ['config/credentials.json', 'secret'],
  ['certs/server.pem', 'secret'],
  ['.aws/config', 'secret'],
  ['src/secrets.ts', undefined],
  ['package-lock.json', 'generated'],
  ['web/jquery.min.js', 'generated'],
  ['vendor/a/a.go', 'generated'],
  ['api/a_pb2.py', 'generated'],
  ['src/building/out.ts', undefined],
])('%s: %s', (path, reason) => {
  assert.equal(excludedByName(path)?.reason, reason);
});

test('a file with a credential is excluded with its line, and one that reads credentials is not', () => {
  const key = `${'sk-'}${'a1'.repeat(10)}`;
  assert.deepEqual(excludedByContent('a.ts', `\n\nconst key = '${key}';`), {
    path: 'a.ts',
    reason: 'secret',
    what: 'line 3',
  });
  assert.equal(excludedByContent('a.ts', 'const token = process.env.TOKEN;'), undefined);
});

test.each([
  'AKIAIOSFODNN7EXAMPLE',
  `${'ghp_'}abcdefghijklmnopqrstuvwxyz0123456789`,
  `${'sk-'}proj-xxxxxxxxxxxxxxxx`,
  '.sk-chase-dot { animation: sk-chase-dot 2s }',
  "if (text.startsWith('-----BEGIN PRIVATE KEY-----')) return read(text);",
])('%s is an example, not a secret', text => {
  assert.equal(excludedByContent('a.ts', text), undefined);
});

test('a secret beside an example is detected, and so is a short key', () => {
  const pem = ['-----BEGIN PRIVATE', 'KEY-----\n'].join(' ');
  for (const secret of [
    `${'AKIA'}J3QX7ZK2M5TB9WLD`,
    `${pem}${'MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v'.repeat(2)}\n`,
    `${'sk-'}live-words-4711`,
    `-----BEGIN PRIVATE KEY-----'; const token = '${'ghp_'}9f8e7d6c5b`,
  ])
    assert.deepEqual(excludedByContent('a.ts', `// AKIAIOSFODNN7EXAMPLE\n'${secret}'`), {
      path: 'a.ts',
      reason: 'secret',
      what: 'line 2',
    });
});
