import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { isObject } from '#core';
import { type TestHub, startHub } from '#helpers/hub';
import { createInstallHub } from '../installs/hub.ts';
import { type Fake, type FlatNeeds, type Outcome, run } from './run.ts';

/** Runs a hub with the servers `echo` and `calendar` during the tests of a file. */
export function withHub() {
  let hub: TestHub;
  let installing: ReturnType<typeof createInstallHub>;
  beforeAll(async () => {
    installing = createInstallHub();
    const { installs } = installing;
    hub = await startHub([{ name: 'echo' }, { name: 'calendar' }], {
      installs,
      changeTools: async () => {},
    });
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await installing?.[Symbol.asyncDispose]();
  });
  const findHub = async (url: string | undefined) => ({ ...hub.place, url: url ?? hub.url });
  return {
    get hub() {
      return hub;
    },
    /** Installed entries by server name. */
    get entries() {
      return installing.entries;
    },
    /** Runs a command line against the hub. */
    cli: async (args: readonly string[], fake?: Fake, needs: FlatNeeds = {}): Promise<Outcome> =>
      await run(args, { findHub, ...needs }, fake),
  };
}

export const jsonOf = (text: string): unknown => JSON.parse(text);
export const fieldOf = (value: unknown, key: string) => (isObject(value) ? value[key] : undefined);

/** Starts an HTTP server that is not a hub, and answers every request alike. */
export async function openOther(status: number, body: string) {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    url: `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
