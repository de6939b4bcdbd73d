import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { noBudget } from '#helpers/budget';
import { createRecordingLog } from '#helpers/hub';
import { caller } from '#helpers/principal';
import type { Principal } from '#policy';
import { type ConnectionsOptions, createConnections } from '../../hub/transports/connections.ts';

const other: Principal = { ...caller, kind: 'client', name: 'other' };

/** Creates connections whose wires record how they end, to a router whose sessions do nothing. */
function openTable(options: ConnectionsOptions = { maxConnections: 3 }) {
  const ends: string[] = [];
  const connections = createConnections(options, {
    router: {
      open: (_endpoint, principal) => ({
        principal,
        protocolVersion: '2025-11-25',
        accept: () => Promise.resolve(undefined),
        save: () => undefined,
        close() {},
      }),
    },
    clock: systemClock,
    log: createRecordingLog().log,
    unread: noBudget,
  });
  const open = (name: string, principal = caller) =>
    connections.open('all', principal, {
      write() {},
      unsentBytes: () => 0,
      close: reason => void ends.push(`${name}: ${reason}`),
      drop() {},
      keepAlive() {},
    });
  return { connections, open, ends };
}

describe('the table of open connections', () => {
  test('refuses those above the maximum, until one ends', async () => {
    const { connections, open } = openTable();
    const [first] = [open('a'), open('b'), open('c')];
    assert.throws(() => open('d'), { code: 'HUB_SESSIONS_FULL' });
    first.gone('left');
    open('d');
    assert.equal(connections.size, 3);
    await connections.drain(0);
  });

  test('keeps room for other clients than one', async () => {
    const { connections, open } = openTable({ maxConnections: 3, maxPerPrincipal: 2 });
    open('a');
    open('b');
    assert.throws(() => open('c'), { code: 'HUB_SESSIONS_FULL', message: /this client has 2/ });
    open('c', other);
    await connections.drain(0);
  });

  test('ends and updates them by principal', async () => {
    const { connections, open, ends } = openTable();
    open('a');
    const kept = open('b', { ...other, profile: 'work' });
    connections.regrant({ ...other, grants: { administer: true } });
    assert.deepEqual(kept.principal, { ...other, grants: { administer: true }, profile: 'work' });
    connections.endOf(caller, 'revoked');
    await connections.drain(0);
    assert.deepEqual(ends, ['a: revoked', 'b: the hub is stopping']);
  });

  test('refuses new ones while the hub stops', async () => {
    const { connections, open } = openTable();
    await connections.drain(0);
    assert.equal(connections.isDraining, true);
    assert.throws(() => open('a'), { code: 'HUB_SHUTTING_DOWN' });
  });
});
