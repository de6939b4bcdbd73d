import { addBuiltins } from '#builtin';
import { createManualClock } from '#helpers/clock';
import { createFixtureServers, createRecordingLog, until } from '#helpers/hub';
import { type Endpoint, createRouter } from '#routing';
import { type FuzzedClient, createSecrets, openBystander, openFuzzed } from './clients.ts';
import { createGenerator } from './generate.ts';

/** Unlimited in effect. At 1000 a second, answers would wait behind invalid messages (tests/faults/flood). */
const maxNotifications = 1_000_000;
const common = {
  file: 'whisper.mjs',
  maxRestarts: 0,
  maxLineBytes: 4 * 1024 * 1024,
  maxNotifications,
} as const;

/**
 * Creates a router with a server of each era, and one with an instance per session. `lies`: number of invalid messages
 * that each of them sends.
 */
export async function openHub(lies?: { readonly seed: number; readonly count: number }) {
  const { log, logged } = createRecordingLog();
  const env = (index: number) => ({
    ...(lies && { LIES: `${lies.seed + index}:${lies.count}` }),
  });
  const own = { instance: 'session', maxInstances: 4 } as const;
  const servers = createFixtureServers(
    [
      { ...common, name: 'old', era: 'legacy', env: env(1) },
      { ...common, name: 'new', era: 'modern', env: { ERA: 'modern', ...env(2) } },
      { ...common, ...own, name: 'own', era: 'legacy', env: env(3) },
    ],
    { log },
  );
  const clock = createManualClock({ passingMs: 10 });
  let lastId = 0;
  const { all } = addBuiltins(servers, { clock, hubVersion: '0' });
  const router = createRouter(
    { naming: () => ({ separator: '_', maxLength: 46 }), hubVersion: '0' },
    {
      servers: all,
      log,
      clock,
      newId: () => `id-${++lastId}`,
    },
  );
  servers.startAll();
  await until(() => servers.all.every(server => server.running));
  return { servers, router, clock, logged };
}

export type Hub = Awaited<ReturnType<typeof openHub>>;

const clientsAtOnce = 10;
const burst = 25;
/** Number of bursts that a client sends before it leaves. */
const bursts = 4;

const initialize = {
  bytes: Buffer.from(
    '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"f","version":"1"}}}',
  ),
  echoes: undefined,
};

/** Returns a function that opens the next client of a run: of both eras, on all endpoints. */
function createClients(hub: Hub, needs: Parameters<typeof openFuzzed>[3]) {
  const { router, servers } = hub;
  const views: readonly Endpoint[] = ['all', servers.get('old'), 'all', servers.get('new')];
  const prefixes = ['old_', 'new_'];
  let opened = 0;
  return (): FuzzedClient => {
    const number = opened++;
    const endpoint =
      number % 20 === 19 ? servers.get('own') : (views[number % views.length] ?? 'all');
    const era = number % 3 === 0 ? 'modern' : 'legacy';
    const prefix = endpoint === 'all' ? (prefixes[number % 5 === 0 ? 1 : 0] ?? '') : '';
    const client = openFuzzed(
      router,
      endpoint,
      { secret: needs.secrets.create(), era, prefix },
      needs,
    );
    // Some clients never initialize.
    if (era === 'legacy' && number % 5 < 4) client.send(initialize);
    return client;
  };
}

/** Lets clients send `count` generated messages, and checks all that they receive. */
export async function fuzz(hub: Hub, count: number, seed: number): Promise<void> {
  const { router, servers, clock } = hub;
  const generator = createGenerator(seed);
  const secrets = createSecrets();
  const bystanders = [
    openBystander(router, 'all', 'old_', secrets),
    openBystander(router, servers.get('old'), '', secrets),
    openBystander(router, servers.get('new'), '', secrets),
  ];
  for (const bystander of bystanders) await bystander.initialize();
  const open = createClients(hub, { generator, secrets, clock });
  let clients: { readonly client: FuzzedClient; readonly until: number }[] = [];
  for (let sent = 0, round = 0; sent < count; round++) {
    while (clients.length < clientsAtOnce) clients.push({ client: open(), until: round + bursts });
    const watching = bystanders.map(bystander => bystander.echo());
    for (const { client } of clients)
      for (let one = 0; one < burst; one++) sent += client.send(generator.message(client.speaker));
    await Promise.all([...watching, ...clients.map(({ client }) => client.settled())]);
    clock.advance(100);
    const leaving = clients.filter(({ until }) => until <= round);
    clients = clients.filter(({ until }) => until > round);
    for (const { client } of leaving) await client.close();
  }
  for (const { client } of clients) await client.close();
  for (const bystander of bystanders) {
    await bystander.echo();
    bystander.close();
  }
}
