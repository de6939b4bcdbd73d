import { join } from 'node:path';
import { rebuildBuild } from './build.ts';
import { type Container, containerName, rebuildContainer, rebuildNetwork } from './container.ts';
import type { EngineSocket } from './engine-socket.ts';
import { bindsOf, createContainerRegistry } from './container-registry.ts';
import { checkLock } from './package-lock.ts';
import { checkSource, resolveSource } from './mounts.ts';
import { checkBuilt, checkVolume, findOwned, ownVolumes } from './ownership.ts';
import { rebuildFilters, rebuildQuery } from './query.ts';
import { refusal } from './refusal.ts';
import { checkRegistry } from './registries.ts';
import { findRoute } from './routes.ts';
import { type HubIdentity, hubLabel } from './schema.ts';
import { parseTarget } from './target.ts';

/** A call to the engine, built only from checked parts of the client's request. */
export type AdmittedCall = {
  readonly method: string;
  readonly path: string;
  readonly body?: { readonly type: string; readonly content: string | Buffer };
  /** The connection becomes a raw stream in both directions. */
  readonly hijack: boolean;
  /** The answer, if the broker has it already; the call is then not forwarded. */
  readonly answer?: unknown;
  /** Must be called once the engine has answered or failed. */
  readonly done?: () => void;
};

export type BrokerRequest = {
  readonly method: string;
  readonly target: string;
  /** Reads the client's body, up to a limit in bytes. Called only if the call needs its body. */
  readonly readBody: (maxBytes?: number) => Promise<string>;
};

export type BrokerGateOptions = HubIdentity & {
  readonly mountRoots: readonly string[];
  readonly registries: readonly string[];
  /** The folder with the build contexts npm/ and python/. */
  readonly imagesDir: string;
};

export type BrokerGateNeeds = {
  readonly engine: EngineSocket;
  /** Packs a folder and an optional package lock into a tar archive. */
  readonly readBuildContext: (folder: string, lock?: string) => Promise<Buffer>;
  /** Returns the package lock in such an archive. */
  readonly readLock: (context: Buffer) => string | undefined;
};

/**
 * Maximum size in bytes of a client's build context. It is read only for its package lock, which may list
 * thousands of packages.
 */
const maxContextBytes = 8 * 1024 * 1024;

/**
 * Creates the function that checks a client's call and builds the call for the engine. It rejects with HubError
 * for a call that is not allowed.
 */
export function createGate(
  options: BrokerGateOptions,
  { engine, readBuildContext, readLock }: BrokerGateNeeds,
): (asked: BrokerRequest) => Promise<AdmittedCall> {
  const containers = createContainerRegistry(engine, options.hubId);

  return async ({ method, target, readBody }) => {
    const parsed = parseTarget(target);
    const { handling, hijack, ...route } = findRoute(method, parsed);
    const finish = (
      path: string,
      query: URLSearchParams,
      body?: AdmittedCall['body'],
    ): AdmittedCall => ({
      method,
      path: `${parsed.version}${path}${query.size === 0 ? '' : `?${query.toString()}`}`,
      hijack,
      ...(body === undefined ? {} : { body }),
    });

    switch (handling.kind) {
      case 'none':
        return finish(route.path, rebuildQuery(parsed.query, route.query));
      case 'own': {
        const query = rebuildQuery(parsed.query, route.query);
        const id = await findOwned(engine, handling.object, handling.name, options.hubId);
        return finish(route.path.replace('{id}', id), query);
      }
      case 'pull': {
        const query = rebuildQuery(parsed.query, route.query);
        checkRegistry(query.get('fromImage') ?? '', options.registries);
        return finish(route.path, query);
      }
      case 'built_image': {
        const query = rebuildQuery(parsed.query, route.query);
        await checkBuilt(engine, handling.reference);
        return finish(parsed.path, query);
      }
      case 'start_container': {
        const query = rebuildQuery(parsed.query, route.query);
        const id = await findOwned(engine, 'container', handling.name, options.hubId);
        // Since the creation a folder may have been replaced by a symbolic link, which the engine would follow.
        for (const { source } of await bindsOf(engine, id))
          await checkSource(source, options.mountRoots);
        return finish(route.path.replace('{id}', id), query);
      }
      case 'filter': {
        const { filters, rest } = takeFilters(parsed.query);
        const query = rebuildQuery(rest, route.query);
        query.set(
          'filters',
          rebuildFilters(filters, `${hubLabel}=${options.hubId}`, handling.others),
        );
        return finish(route.path, query);
      }
      case 'own_volumes': {
        // Without this parameter the engine also measures images and containers.
        if (parsed.query.get('type') !== 'volume') throw refusal('/system/df without type=volume');
        const answer = { Volumes: await ownVolumes(engine, options) };
        return { ...finish(route.path, rebuildQuery(parsed.query, route.query)), answer };
      }
      case 'create_container': {
        const name = parsed.query.get('name');
        const query = rebuildQuery(parsed.query, { name: each => containerName(each, options) });
        if (name === undefined) throw refusal('a container without a name');
        const container = rebuildContainer(await readBody(), options);
        const resolved = await resolveHostConfig(container);
        const done = await containers.reserve(name, bindsIn(resolved));
        return { ...finish(route.path, query, json(resolved)), done };
      }
      case 'create_network': {
        const query = rebuildQuery(parsed.query, {});
        return finish(route.path, query, json(rebuildNetwork(await readBody(), options)));
      }
      case 'build': {
        const { base, network, query } = rebuildBuild(parsed.query);
        // The id, because names would also match the default network and the host's.
        const isNone = network === 'none';
        const id = isNone ? network : await findOwned(engine, 'network', network, options.hubId);
        query.set('networkmode', id);
        const lock = checkLock(base, readLock(Buffer.from(await readBody(maxContextBytes))));
        const content = await readBuildContext(join(options.imagesDir, base), lock);
        return finish(route.path, query, { type: 'application/x-tar', content });
      }
    }
  };

  /** Resolves volumes, mounts and the network of a container, which needs the engine and the file system. */
  async function resolveHostConfig(container: Container): Promise<Container> {
    const host = container.HostConfig;
    const Mounts = [];
    for (const mount of host.Mounts ?? []) {
      if (mount.Type === 'volume') {
        await checkVolume(engine, mount.Source, options);
        Mounts.push(mount);
      } else {
        Mounts.push({ ...mount, Source: await resolveSource(mount.Source, options.mountRoots) });
      }
    }
    const NetworkMode =
      host.NetworkMode === 'none'
        ? 'none'
        : await findOwned(engine, 'network', host.NetworkMode, options.hubId);
    return { ...container, HostConfig: { ...host, Mounts, NetworkMode } };
  }
}

function bindsIn({ HostConfig: { Mounts = [] } }: Container) {
  return Mounts.filter(mount => mount.Type === 'bind').map(mount => ({
    source: mount.Source,
    readOnly: mount.ReadOnly,
  }));
}

function takeFilters(query: ReadonlyMap<string, string>) {
  const rest = new Map(query);
  rest.delete('filters');
  return { filters: query.get('filters'), rest };
}

function json(value: unknown): AdmittedCall['body'] {
  return { type: 'application/json', content: JSON.stringify(value) };
}
