import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'vitest';
import type { Principal } from '#policy';
import { createConnectionShares } from '../../hub/http/connection-shares.ts';

const principal = (name: string, kind: Principal['kind'] = 'client'): Principal => ({
  kind,
  name,
  grants: { administer: false },
});
const [ada, bob, local] = [principal('ada'), principal('bob'), principal('local', 'local')];

test('a client has half of all connections at most, and others have the rest', () => {
  const shares = createConnectionShares(4);
  const [first, second, third] = [new Socket(), new Socket(), new Socket()];
  for (let request = 0; request < 3; request++)
    for (const socket of [first, second]) assert.ok(shares.take(socket, ada));
  assert.ok(!shares.take(third, ada));
  assert.match(shares.reasonFor(ada), /"ada" has 2 connections open/);
  assert.ok(shares.take(third, bob));
  for (let index = 0; index < 10; index++) assert.ok(shares.take(new Socket(), local));
});

test('a connection that closes, or changes to another principal, frees its share', async () => {
  const shares = createConnectionShares(2);
  const [first, second] = [new Socket(), new Socket()];
  assert.ok(shares.take(first, ada));
  assert.ok(!shares.take(second, ada));
  assert.ok(shares.take(first, local));
  assert.ok(shares.take(second, ada));
  assert.ok(!shares.take(first, ada));
  const closed = Promise.withResolvers<void>();
  second.once('close', () => closed.resolve());
  second.destroy();
  assert.ok(!shares.take(second, bob), 'a closed connection is not counted');
  await closed.promise;
  assert.ok(shares.take(first, ada));
});
