import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { connectEra } from '#helpers/eras';
import { startHub } from '#helpers/hub';

const uri = 'test://counter';

describe('resources of a modern server with "instance": "session"', () => {
  test.for(['/mcp/fixture', '/mcp'])(
    'a client of 2025 at %s hears of those of its own instance until it unsubscribes',
    async path => {
      await using hub = await startHub([
        { name: 'fixture', file: '../eras/server-2026.mjs', instance: 'session' },
      ]);
      const own = (tool: string) => (path === '/mcp' ? `fixture_${tool}` : tool);
      await using hearing = await connectEra('2025', `${hub.url}${path}`);
      await using other = await connectEra('2025', `${hub.url}${path}`);
      const subscription = await hearing.subscribe(uri);
      await other.call(own('bump'));
      assert.equal(await hearing.call(own('bump')), '1', 'the counter of its own instance');
      await hearing.hears('notifications/resources/updated');
      await subscription.stop();
      await hearing.call(own('bump'));
      await hearing.call(own('bump'));
      const updates = hearing.heard.filter(({ method }) => method.endsWith('/updated'));
      assert.equal(updates.length, 1);
    },
  );
});
