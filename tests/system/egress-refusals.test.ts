import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import type { Instance } from '#runtimes';
import { askerOf, answering, createHub, docker, until } from '../runtimes/docker/hub.ts';
import { createWorld } from './egress-scene.ts';

const redisImage = 'redis:8';

/** Returns the answer of the proxy, of a direct connection, or of name servers. */
const trying = answering(`async ({ kind, target, host, port, name, servers }) => {
  if (kind === 'names') {
    const { Resolver } = require('node:dns').promises;
    const asked = servers.flatMap(server => ['A', 'TXT', 'ANY'].map(type => {
      const resolver = new Resolver({ timeout: 200, tries: 1 });
      resolver.setServers([server]);
      return resolver.resolve(name, type).then(found => JSON.stringify(found), error => error.code);
    }));
    return [...new Set(await Promise.all(asked))].toSorted().join(' ');
  }
  const proxy = new URL(process.env.HTTP_PROXY);
  const { promise, resolve } = Promise.withResolvers();
  const socket = require('node:net').connect(kind === 'direct' ? { host, port, timeout: 1000 } : { host: proxy.hostname, port: proxy.port });
  let all = '';
  socket.on('timeout', () => socket.destroy(Object.assign(new Error(), { code: 'timeout' })));
  socket.on('error', error => (all += error.code));
  socket.on('connect', () => socket.write(kind === 'direct' ? 'PING\\r\\n' : 'CONNECT ' + target + ' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'));
  socket.on('data', data => { all += data; socket.end(); });
  socket.on('close', () => resolve(kind === 'direct' ? all || 'closed' : all.split(' ')[1] + ' ' + all.split('\\r\\n').at(-1).trim()));
  return await promise;
}`);
const counting = `let count = 0; require('node:net').createServer(socket => { count++; socket.destroy(); }).listen(80);
  require('node:readline').createInterface({ input: process.stdin }).on('line', line =>
    console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: count })));`;

/** Prints source and destination of packets that contain a text, in all networks of the engine's machine. */
const watching = `
import socket, sys
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 2**20)
print("ready", flush=True)
while True:
    packet, place = packets.recvfrom(65535)
    if sys.argv[1].encode() in packet.lower():
        at = lambda start: ".".join(map(str, packet[start:start + 4]))
        print("seen", place[0], at(12), at(16), flush=True)
`;

const exact = ['redis:6379', 'qdrant:6333', 'ollama:11434', 'hub.internal:9090'];
const networks = {
  bridged: 'bridge',
  listed: { allow: ['*', ...exact] },
  narrow: { allow: ['api.test'] },
} as const;

describeWithEngine('a server', () => {
  const places = {
    addresses: [''],
    ports: [9090],
    backends: [{ address: '', port: 6379 }],
  };
  let hub: ReturnType<typeof createHub>;
  let world: Awaited<ReturnType<typeof createWorld>>;
  let peer: Instance;
  let forwarder: string;
  const askers = new Map<string, ReturnType<typeof askerOf>>();
  const stack = new AsyncDisposableStack();
  const addresses: Record<string, string> = { metadata: '169.254.169.254' };
  const ask = async (server: string, params: object) =>
    String(await askers.get(server)?.ask('try', params));

  beforeAll(async () => {
    hub = stack.use(createHub({ hubPlaces: async () => places }));
    world = stack.use(await createWorld());
    const redis = await docker.createContainer({
      Image: redisImage,
      HostConfig: { NetworkMode: world.networks.private },
      NetworkingConfig: {
        EndpointsConfig: { [world.networks.private]: { Aliases: ['redis', 'inside.lan'] } },
      },
    });
    stack.defer(() => redis.remove({ force: true }));
    await redis.start();
    const inspected = await redis.inspect();
    addresses['Redis'] =
      inspected.NetworkSettings.Networks[world.networks.private]?.IPAddress ?? '';
    addresses['a machine outside'] = world.addresses.public;
    addresses['a machine inside'] = world.addresses.private;
    places.addresses = [world.addresses.private];
    places.backends = [
      { address: addresses['Redis'], port: 6379 },
      { address: world.addresses.private, port: 6333 },
      { address: world.addresses.private, port: 11434 },
    ];
    const peering = hub.launch(
      hub.spec('peer', { command: 'node', args: ['-e', counting], network: { allow: ['x.test'] } }),
    );
    await Promise.all(
      Object.entries(networks).map(async ([name, network]) =>
        askers.set(name, askerOf(await hub.launch(hub.spec(name, { ...trying, network })))),
      ),
    );
    peer = await peering;
    await world.attach(hub);
    const shown = await docker.getContainer(`${hub.hubName}-.egress`).inspect();
    const own = shown.NetworkSettings.Networks;
    forwarder = own[`${hub.hubName}-narrow`]?.IPAddress ?? '';
    addresses['the gateway of the forwarder'] = own[`${hub.hubName}-.egress`]?.Gateway ?? '';
    addresses['the forwarder in another network'] = own[`${hub.hubName}-peer`]?.IPAddress ?? '';
    const { NetworkSettings } = await docker.getContainer(`${hub.hubName}-peer`).inspect();
    addresses['another server'] = NetworkSettings.Networks[`${hub.hubName}-peer`]?.IPAddress ?? '';
  });

  afterAll(() => stack.disposeAsync());

  describe.each(['bridged', 'listed'])('that is %s', server => {
    test('reaches what is public', async () => {
      assert.match(await ask(server, { kind: 'proxy', target: 'api.test:80' }), /^200/);
    });

    test.each([
      ['redis:6379', /is a service of the hub$/],
      ['qdrant:6333', /is a service of the hub$/],
      ['ollama:11434', /is a service of the hub$/],
      ['hub.internal:9090', /is the hub, or a service of it$/],
      ['hub.internal:80', /is an address of the machine of the hub$/],
      ['inside.lan:80', /is a private address$/],
      ['meta.test:80', /is a link-local or metadata address$/],
      ['localhost:80', /is a loopback address$|cannot be resolved$/],
    ])('does not reach %s', async (target, why) => {
      const seen = await ask(server, { kind: 'proxy', target });
      assert.match(seen, /^(403|502) AgentHub: /);
      assert.match(seen, why);
    });

    test('does not reach another server by its name', async () => {
      const target = `${hub.hubName}-peer:80`;
      const seen = await ask(server, { kind: 'proxy', target });
      assert.match(seen, /^403 AgentHub: .*is an address of servers$/);
    });

    test('does not reach any address, by the proxy or without it', async () => {
      for (const [what, host] of Object.entries(addresses)) {
        assert.match(host, /^\d/, what);
        const seen = await ask(server, { kind: 'proxy', target: `${host}:80` });
        assert.match(seen, /^403 AgentHub: .*is not a name/, what);
        for (const port of [80, 6379, 6333, 11434, 9090])
          assert.equal(await ask(server, { kind: 'direct', host, port }), 'ENETUNREACH', what);
      }
    });
  });

  test('that names services of the hub as exact targets does not reach them without a proxy', async () => {
    for (const [host = '', port] of exact.map(one => one.split(':'))) {
      const seen = await ask('listed', { kind: 'direct', host, port: Number(port) });
      assert.match(seen, /^(closed|ECONNRESET)$/, host);
      const bridged = await ask('bridged', { kind: 'direct', host, port: Number(port) });
      assert.match(bridged, /^(ENOTFOUND|EAI_AGAIN)$/, host);
    }
  });

  test('sends no name that is not on its list to a name server', async () => {
    const marker = `leak-${randomUUID()}`;
    await using watch = await startWatch(marker);
    const name = `${marker}.${'a'.repeat(63)}.${'b'.repeat(63)}.tunnel.test`;
    const servers = ['127.0.0.11', forwarder, world.addresses.public, world.addresses.private];
    const seen = await ask('narrow', { kind: 'names', name, servers });
    assert.doesNotMatch(seen, /[[\]{}]/);
    for (const host of servers)
      assert.match(
        await ask('narrow', { kind: 'direct', host, port: 53 }),
        /^(ENETUNREACH|ECONNREFUSED|timeout)$/,
        host,
      );
    for (const target of [`${name}:443`, `${marker}.api.test:443`, `${marker}:80`])
      assert.match(await ask('narrow', { kind: 'proxy', target }), /^403 AgentHub: .*is not in/);
    // The server's own attempts are visible in its own network, which has no way out.
    await until('the watch sees packets', async () => (await watch.seen()).length > 0);
    const isOwn = (place: string) => place.startsWith('10.213.');
    for (const line of await watch.seen()) {
      const [, , from = '', to = ''] = line.split(' ');
      assert.ok(isOwn(from) && isOwn(to), line);
    }
  });

  test('has reached nothing of all that', async () => {
    assert.equal(await askerOf(peer).ask('count'), 0);
    assert.deepEqual(
      (await world.reached()).filter(line => !line.includes('db')),
      [],
    );
    assert.match(await redisStats(), /^total_connections_received:1\r?$/m);
  });

  async function redisStats(): Promise<string> {
    const [found] = await docker.listContainers({
      filters: JSON.stringify({ network: [world.networks.private], ancestor: [redisImage] }),
    });
    const command = ['redis-cli', 'info', 'stats'];
    const run = await docker
      .getContainer(found?.Id ?? '')
      .exec({ Cmd: command, AttachStdout: true, Tty: true });
    let text = '';
    for await (const chunk of await run.start({ Tty: true })) text += String(chunk);
    return text;
  }
});

/** Watches all networks of the engine's machine for packets that contain this text. */
async function startWatch(text: string) {
  const container = await docker.createContainer({
    Image: 'python:3.13-slim',
    Cmd: ['python', '-c', watching, text],
    HostConfig: { NetworkMode: 'host', CapDrop: ['ALL'], CapAdd: ['NET_RAW'] },
  });
  await container.start();
  const logged = async () => (await container.logs({ stdout: true, stderr: true })).toString();
  await until('it watches', async () => (await logged()).includes('ready'));
  return {
    /** Lines such as `seen br-1 10.0.0.1 10.0.0.2`: interface, source, destination. */
    seen: async (): Promise<readonly string[]> => (await logged()).match(/seen .*/g) ?? [],
    [Symbol.asyncDispose]: async () => void (await container.remove({ force: true })),
  };
}
