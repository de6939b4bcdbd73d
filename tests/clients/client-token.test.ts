import assert from 'node:assert/strict';
import { test } from 'vitest';
import { tokenInEntry, tokenNameOf } from '../../hub/clients/client-token.ts';

const Authorization = 'Bearer abc';

test.each<readonly [entry: unknown, token: string | undefined]>([
  [{ headers: { Authorization } }, 'abc'],
  [{ http_headers: { Authorization } }, 'abc'],
  [{ env: { ROUTER_TOKEN: 'abc' } }, 'abc'],
  [{ headers: { Authorization: 'Bearer ${ROUTER_TOKEN}' } }, undefined],
  [{ headers: { Authorization: 'Bearer ${env:ROUTER_TOKEN}' } }, undefined],
  [{ env: { ROUTER_TOKEN: '${ROUTER_TOKEN}' } }, undefined],
  [{ headers: { Authorization: 'Basic abc' } }, undefined],
  [{ headers: { Authorization: 5 } }, undefined],
  [{ url: 'http://localhost:9090/mcp' }, undefined],
  ['text', undefined],
])('the token in the entry %j is %j', (entry, token) => {
  assert.equal(tokenInEntry(entry), token);
});

test.each([
  ['user', '/home/me/work', 'cursor'],
  ['workspace', '/home/me/work', 'cursor-work'],
  ['workspace', '/home/me/Мои files (1)', 'cursor--files-1-'],
  ['workspace', `/home/me/${'x'.repeat(60)}`, `cursor-${'x'.repeat(25)}`],
  ['workspace', '/', 'cursor-'],
] as const)('the client of the %s file in %s is %s', (scope, folder, name) => {
  assert.equal(tokenNameOf({ client: 'cursor', scope }, folder), name);
});
