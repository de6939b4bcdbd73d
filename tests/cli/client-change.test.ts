import assert from 'node:assert/strict';
import { test } from 'vitest';
import { clientOf, targetOf } from '../../hub/cli/client-change.ts';

test('a client is found by its name, and a similar name is suggested', () => {
  assert.equal(clientOf('cursor'), 'cursor');
  assert.throws(() => clientOf('curser'), {
    code: 'HUB_USAGE',
    message: /^"curser" is not a client\. Did you mean "cursor"\? Clients: claude-code, /,
  });
  assert.throws(() => clientOf('toString'), /^HubError: "toString" is not a client\. Clients: /);
});

test('options select the scope, the file and the name of the entry', () => {
  const client = 'cursor';
  const usual = { client, scope: 'user', file: undefined, name: 'agenthub' };
  assert.deepEqual(targetOf(client, {}), usual);
  assert.deepEqual(targetOf(client, { workspace: true, file: 'a.json', name: 'a_B-1' }), {
    client,
    scope: 'workspace',
    file: 'a.json',
    name: 'a_B-1',
  });
});

test.for(['', 'a.b', 'a b', 'ä', '__proto__.x', 'x'.repeat(33)])(
  '%j does not name an entry',
  name => {
    assert.throws(() => targetOf('cursor', { name }), { code: 'HUB_USAGE', message: /^--name: / });
  },
);
