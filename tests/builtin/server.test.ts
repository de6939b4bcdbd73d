import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openBuiltin } from './scripted-builtin.ts';

describe("a server of the hub's own", () => {
  test('announces that a list changed and that a watched resource was updated', () => {
    const { server, fire, watches } = openBuiltin();
    const heard: unknown[] = [];
    server.listed(kind => void heard.push(kind));
    server.notified(({ bytes }) => void heard.push(JSON.parse(bytes.toString()).params));
    fire('tool');
    server.watch({ resources: ['own://thing', 'own://other'], tasks: [] });
    server.watch({ resources: ['own://thing'], tasks: [] });
    assert.equal(watches.length, 1);
    watches[0]?.();
    assert.deepEqual(heard, ['tool', { uri: 'own://thing' }]);
    server.watch({ resources: [], tasks: [] });
    assert.equal(watches.length, 0);
  });

  test('cannot be stopped', async () => {
    const { server } = openBuiltin();
    await assert.rejects(server.stop(true), {
      code: 'HUB_REQUEST_INVALID',
      message: /own is part of the hub/,
    });
    assert.equal(server.status.state, 'running');
  });
});
