import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Certificate } from '#helpers/certificates';
import { createHub, docker, nodeImage, until } from '../runtimes/docker/hub.ts';
import { randomSubnet, type SubnetKind } from './egress-subnets.ts';

type Hub = Pick<ReturnType<typeof createHub>, 'hubName'>;

/** Host names outside the hub. All belong to one container with a public, a private and a link-local address. */
const names = {
  public: ['api.test', 'www.api.test', 'other.test', 'registry.npm.test', 'git.test', 'pypi.test'],
  private: ['db.internal', 'nas.internal', 'inside.test', 'qdrant', 'ollama', 'hub.internal'],
  linkLocal: ['meta.test', 'meta.internal'],
};

const script = join(import.meta.dirname, 'egress-world.mjs');

type Options = {
  /** Folder served below /files/, and its bare Git repositories below /git/. */
  readonly files?: string;
  /** Certificate for HTTPS on port 8443. */
  readonly certificate?: Certificate;
};

/** Creates an internal network on a random subnet. Retries if it overlaps one that another test file has just made. */
async function createFreeNetwork(
  kind: SubnetKind,
  options: Readonly<{ Name: string; Labels: Record<string, string> }>,
) {
  for (let attempt = 1; ; attempt++) {
    const IPAM = { Config: [{ Subnet: randomSubnet(kind) }] };
    try {
      return await docker.createNetwork({ ...options, Internal: true, IPAM });
    } catch (error) {
      if (attempt === 20 || !/Pool overlaps/.test(String(error))) throw error;
    }
  }
}

/** Starts the container that plays the Internet, with an address for documentation and no way out. */
export async function createWorld({ files, certificate }: Options = {}) {
  const id = randomUUID().slice(0, 8);
  const kinds = ['public', 'private', 'linkLocal'] as const;
  const nameOf = (kind: SubnetKind) => `world-${id}-${kind.toLowerCase()}`;
  const Labels = { 'io.agenthub.test': id };
  await using made = new AsyncDisposableStack();
  await Promise.all(
    kinds.map(async kind => {
      const network = await createFreeNetwork(kind, { Name: nameOf(kind), Labels });
      made.defer(async () => void (await network.remove()));
    }),
  );
  const container = await docker.createContainer({
    name: `world-${id}`,
    Image: nodeImage,
    Cmd: ['node', '/world.mjs'],
    Labels,
    HostConfig: {
      NetworkMode: nameOf('public'),
      Binds: [
        `${script}:/world.mjs:ro`,
        ...(files === undefined ? [] : [`${files}:/files:ro`]),
        ...(files !== undefined && existsSync('/usr/lib/git-core') ? ['/usr:/host:ro'] : []),
        ...(certificate === undefined
          ? []
          : [
              `${certificate.certFile}:/certificate:ro`,
              `${certificate.keyFile}:/certificate-key:ro`,
            ]),
      ],
    },
    NetworkingConfig: {
      EndpointsConfig: Object.fromEntries(
        kinds.map(kind => [nameOf(kind), { Aliases: names[kind] }]),
      ),
    },
  });
  made.defer(async () => void (await container.remove({ force: true })));
  await container.start();
  const logged = async () => (await container.logs({ stdout: true, stderr: true })).toString();
  await until('the world answers', async () => (await logged()).includes('ready'));
  const { NetworkSettings } = await container.inspect();
  const addressOf = (kind: SubnetKind) => NetworkSettings.Networks[nameOf(kind)]?.IPAddress ?? '';
  /** Detaches a forwarder from these networks, unless it was removed already. */
  const detach = (forwarder: string) =>
    Promise.all(
      kinds.map(
        kind =>
          docker
            .getNetwork(nameOf(kind))
            .disconnect({ Container: forwarder, Force: true })
            .catch(() => {}), // The forwarder is not in this network.
      ),
    );
  const owned = made.move();
  return {
    addresses: { public: addressOf('public'), private: addressOf('private') },
    networks: { public: nameOf('public'), private: nameOf('private') },
    /** Returns the connections that reached the ports of its services, as `reached redis 6379`. */
    async reached(): Promise<readonly string[]> {
      return (await logged()).match(/reached \S+ \d+/g) ?? [];
    },
    /** Attaches the forwarder of a hub to these networks, where it would have its way to the Internet. */
    async attach({ hubName }: Hub) {
      const forwarder = `${hubName}-.egress`;
      owned.defer(async () => void (await detach(forwarder)));
      for (const kind of kinds)
        await docker.getNetwork(nameOf(kind)).connect({ Container: forwarder });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
