import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'vitest';
import { readClients } from '../../hub/config/clients.ts';

const token = 'a-token-of-a-client';
const digest = createHash('sha256').update(token).digest('hex');

test('a token is kept as its digest, whether the file has it, a variable or a digest', () => {
  const written = {
    plain: { token, administer: false },
    variable: { token: '${TOKEN}', administer: false },
  };
  const { clients, problems } = readClients(written, { TOKEN: 'another-token-of-another' });
  assert.deepEqual(problems, []);
  assert.deepEqual(clients[0], {
    name: 'plain',
    tokenDigest: digest,
    hasPlainToken: true,
    administer: false,
  });
  assert.equal(clients[1]?.hasPlainToken, undefined);
  assert.ok(!JSON.stringify(clients).includes('token-of'));
  const given = readClients({ one: { token: `sha256:${digest}`, administer: true } }, {});
  assert.deepEqual(given.clients, [{ name: 'one', tokenDigest: digest, administer: true }]);
});

test('one client with a token and another with its digest are refused', () => {
  const written = {
    one: { token, administer: false },
    two: { token: `sha256:${digest.toUpperCase()}`, administer: false },
  };
  assert.deepEqual(readClients(written, {}).problems, [
    {
      path: ['clients', 'two', 'token'],
      text: 'is also the token of one: give each client its own',
    },
  ]);
});
