import { randomInt, randomUUID } from 'node:crypto';
import { createHub, docker, nodeImage, until } from '../runtimes/docker/hub.ts';

type Hub = Pick<ReturnType<typeof createHub>, 'hubName'>;

/** Serves the names below, on the ports below, and answers with the name that it was asked for. */
const world = `
  const http = require('node:http');
  const net = require('node:net');
  const { execSync } = require('node:child_process');
  const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');
  mkdirSync('/tmp/package');
  writeFileSync('/tmp/package/package.json', JSON.stringify({ name: 'tiny', version: '1.0.0' }));
  execSync('tar -czf /tmp/tiny.tgz -C /tmp package');
  const tarball = readFileSync('/tmp/tiny.tgz');
  const integrity = 'sha512-' + require('node:crypto').hash('sha512', tarball, 'base64');
  const answer = (request, response) => {
    const { host } = request.headers;
    if (request.url === '/tiny') return response.end(JSON.stringify({
      name: 'tiny', 'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { name: 'tiny', version: '1.0.0', dist: { tarball: 'http://' + host + '/tiny.tgz', integrity } } },
    }));
    if (request.url === '/tiny.tgz') return response.end(tarball);
    if (request.url === '/endless') {
      const chunk = Buffer.alloc(65536);
      const timer = setInterval(() => response.write(chunk), 20);
      return response.on('close', () => clearInterval(timer));
    }
    if (request.url === '/counted') {
      const chunks = Array.from({ length: 64 }, (_, at) => Buffer.from(Uint32Array.from({ length: 2 ** 17 }, (_, index) => at * 2 ** 17 + index).buffer));
      return require('node:stream').Readable.from(chunks).pipe(response);
    }
    if (request.url === '/flood') {
      const chunk = Buffer.alloc(65536);
      const more = () => { while (response.write(chunk)); };
      response.on('drain', more);
      return more();
    }
    if (request.url.startsWith('/repo/')) {
      try { return response.end(readFileSync('/repos' + request.url.split('?')[0])); } catch {}
      return response.writeHead(404).end();
    }
    let body = '';
    request.on('data', chunk => (body += chunk));
    request.on('end', () => response.end(request.method + ' ' + host + request.url + (body && ' ' + body)));
  };
  for (const port of [80, 443, 8080, 9090]) http.createServer(answer).listen(port);
  const echo = name => socket => {
    socket.on('error', () => {});
    socket.on('data', data => socket.write(name + ' ' + data));
  };
  net.createServer(echo('db')).listen(5432);
  net.createServer(echo('redis')).listen(6379);
  console.log('ready');
`;

/** The names of the stand-ins, all on one machine with a public, a private and a link-local address. */
const names = {
  public: ['api.test', 'www.api.test', 'other.test', 'registry.npm.test', 'git.test'],
  private: ['db.internal', 'nas.internal', 'inside.test'],
  linkLocal: ['meta.test', 'meta.internal'],
};

/** A machine outside, on networks that lead nowhere else. Its public address is of a block for documentation. */
export async function createWorld(hub: Hub, repos?: string) {
  const id = randomUUID().slice(0, 8);
  const subnets = {
    public: `203.0.113.${randomInt(16) * 16}/28`,
    private: `172.31.${randomInt(256)}.0/28`,
    linkLocal: `169.254.${randomInt(1, 255)}.0/28`,
  };
  const kinds = ['public', 'private', 'linkLocal'] as const;
  const Labels = { 'io.agenthub.test': hub.hubName };
  const networks = kinds.map(kind => ({ kind, name: `world-${id}-${kind.toLowerCase()}` }));
  await using made = new AsyncDisposableStack();
  for (const { kind, name } of networks) {
    const IPAM = { Config: [{ Subnet: subnets[kind] }] };
    const network = await docker.createNetwork({ Name: name, Internal: true, IPAM, Labels });
    made.defer(async () => void (await network.remove()));
  }
  const container = await docker.createContainer({
    name: `world-${id}`,
    Image: nodeImage,
    Cmd: ['node', '-e', world],
    Labels,
    HostConfig: {
      NetworkMode: networks[0]?.name ?? '',
      Binds: repos === undefined ? [] : [`${repos}:/repos:ro`],
    },
    NetworkingConfig: {
      EndpointsConfig: { [networks[0]?.name ?? '']: { Aliases: names.public } },
    },
  });
  made.defer(async () => void (await container.remove({ force: true })));
  for (const { kind, name } of networks.slice(1))
    await docker
      .getNetwork(name)
      .connect({ Container: container.id, EndpointConfig: { Aliases: names[kind] } });
  await container.start();
  await until('the world answers', async () =>
    (await container.logs({ stdout: true })).toString().includes('ready'),
  );
  const forwarder = `${hub.hubName}-.egress`;
  const { NetworkSettings } = await container.inspect();
  const addressOf = (kind: keyof typeof subnets) =>
    NetworkSettings.Networks[`world-${id}-${kind.toLowerCase()}`]?.IPAddress ?? '';
  /** Removes the forwarder from these networks, which it may have been removed from itself. */
  made.defer(async () => {
    for (const { name } of networks)
      await docker
        .getNetwork(name)
        .disconnect({ Container: forwarder, Force: true })
        .catch(() => {}); // It is in none of them.
  });
  const owned = made.move();
  return {
    addresses: { public: addressOf('public'), private: addressOf('private') },
    /** Puts the forwarder into the world, where it has a way to the outside else. */
    async attach() {
      for (const { name } of networks)
        await docker.getNetwork(name).connect({ Container: forwarder });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
