import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { connectEra } from '#helpers/eras';
import { startHub, until } from '#helpers/hub';

const method = 'notifications/tools/list_changed';

describe.for(['server-2025.mjs', 'server-2026.mjs'])(
  'the clients of the official SDKs behind the hub, at %s',
  file => {
    test('hear of each list_changed of the server, also where its list is the same', async () => {
      const clock = createManualClock();
      await using hub = await startHub([{ name: 'fixture', file: `../eras/${file}` }], { clock });
      // That the server has lists at all has been announced by then.
      clock.advance(1_000);
      await using stack = new AsyncDisposableStack();
      const clients = await Promise.all(
        ['/mcp', '/mcp/fixture'].flatMap(path =>
          (['2025', '2026'] as const).map(async era => {
            const client = stack.use(await connectEra(era, `${hub.url}${path}`));
            await client.subscribe();
            return client;
          }),
        ),
      );
      const before = await Promise.all(clients.map(client => client.toolNames()));
      const [caller] = clients;
      assert.equal(await caller?.call('fixture_announce_same'), 'announced');
      await until(() => {
        clock.advance(1_000);
        return clients.every(({ heard }) => heard.some(told => told.method === method));
      });
      assert.deepEqual(await Promise.all(clients.map(client => client.toolNames())), before);
    });
  },
);
