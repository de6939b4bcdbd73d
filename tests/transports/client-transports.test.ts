import { afterAll, beforeAll } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';
import { clientTransportContract, sharedServers } from '../contracts/client-transport.ts';
import { posting, send } from './raw.ts';
import {
  openOnStdio,
  openOverBridge,
  openSse,
  openStreamable,
  openWebSocket,
  upgradeStatus,
} from './raw-clients.ts';

let shared: TestHub;
beforeAll(async () => {
  shared = await startHub(sharedServers);
});
afterAll(() => shared?.[Symbol.asyncDispose]());
const sharedHub = () => shared;

const pathOf = (server: string | undefined) => (server === undefined ? '' : `/${server}`);

clientTransportContract(sharedHub, {
  name: 'streamable HTTP',
  open: openStreamable,
  async refused(hub, headers, server) {
    const body = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}';
    const url = `${hub.url}/mcp${pathOf(server)}`;
    const given = { method: 'POST', headers: { ...posting, ...headers }, body };
    return (await send(url, given)).status;
  },
});

clientTransportContract(sharedHub, {
  name: 'WebSocket',
  open: openWebSocket,
  refused: (hub, headers, server) => upgradeStatus(hub, `/mcp${pathOf(server)}`, headers),
});

clientTransportContract(sharedHub, {
  name: 'HTTP with SSE',
  open: openSse,
  refused: async (hub, headers, server) =>
    (await send(`${hub.url}/sse${pathOf(server)}`, { headers })).status,
});

for (const [name, frames] of [
  ['a message a line', 'lines'],
  ['Content-Length', 'headers'],
] as const) {
  clientTransportContract(sharedHub, {
    name: `stdio with ${name}`,
    open: (hub, server) => openOnStdio(hub, server, frames),
  });

  clientTransportContract(sharedHub, {
    name: `connect-stdio with ${name}`,
    open: (hub, server) => openOverBridge(hub, server, frames),
  });
}
