import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { caller } from '#helpers/principal';
import type { Principal } from '#policy';
import type { Server } from '#servers';
import { createEndable } from '../../hub/routing/endable-instances.ts';
import { createScriptedServer } from './scripted-server.ts';

const client = (name: string): Principal => ({
  kind: 'client',
  name,
  grants: { administer: false },
});
const { server } = createScriptedServer({ name: 'notes' }, {});
const most = server.config.maxInstances;

function sessionOf(
  principal: Principal,
  isConnected = true,
  state: 'running' | 'stopped' = 'running',
) {
  const status: Server['status'] =
    state === 'running' ? { state: 'running', since: 0 } : { state: 'stopped', byHand: false };
  const instances = new Map([[server, { status }]]);
  return { principal, instances, isConnected: () => isConnected };
}

const sessionsOf = (count: number, ...given: Parameters<typeof sessionOf>) =>
  Array.from({ length: count }, () => sessionOf(...given));

describe('the instance of a connected session', () => {
  test('may be stopped for another client if its client has more than half of all', () => {
    const greedy = sessionsOf(most / 2 + 1, client('mallory'));
    const endable = createEndable(() => greedy);
    assert.ok(greedy.every(endable(server, client('alice'))));
    assert.ok(!greedy.some(endable(server, client('mallory'))), 'not for its own client');
  });

  test('stays if its client has half, or stopped ones besides, or is local', () => {
    for (const sessions of [
      sessionsOf(most / 2, client('mallory')),
      [
        ...sessionsOf(most / 2, client('mallory')),
        ...sessionsOf(5, client('mallory'), true, 'stopped'),
      ],
      sessionsOf(most, caller),
    ])
      assert.ok(!sessions.some(createEndable(() => sessions)(server, client('alice'))));
  });
});

test('the instance of a session that is not connected, or over, may be stopped', () => {
  const sessions = [sessionOf(client('alice'), false)];
  const mayEnd = createEndable(() => sessions)(server, client('alice'));
  assert.deepEqual([...sessions, {}].map(mayEnd), [true, true]);
});
