import { join } from 'node:path';
import { rebuildBuild } from './build.ts';
import { type Container, containerName, rebuildContainer, rebuildNetwork } from './container.ts';
import type { Engine } from './engine.ts';
import { bindsOf, createHoldings } from './holdings.ts';
import { checkLock } from './lock.ts';
import { checkSource, resolveSource } from './mounts.ts';
import { checkBuilt, checkVolume, findOwned, ownVolumes } from './owner.ts';
import { rebuildFilters, rebuildQuery } from './query.ts';
import { refusal } from './refusal.ts';
import { checkRegistry } from './registries.ts';
import { findRoute } from './routes.ts';
import { type Owner, hubLabel } from './schema.ts';
import { parseTarget } from './target.ts';

/** A call as the engine gets it. Nothing of the client's request is in it that was not checked. */
export type Admitted = {
  readonly method: string;
  readonly path: string;
  readonly body?: { readonly type: string; readonly content: string | Buffer };
  /** The call becomes a raw stream in both directions. */
  readonly hijack: boolean;
  /** What the broker answers itself: the engine is not asked again. */
  readonly answer?: unknown;
  /** To be called once the engine has answered, or cannot any more. */
  readonly done?: () => void;
};

export type Asked = {
  readonly method: string;
  readonly target: string;
  /** Reads the client's body, which is bounded. Not called for calls that need none. */
  readonly readBody: (mostBytes?: number) => Promise<string>;
};

export type GateOptions = Owner & {
  readonly mountRoots: readonly string[];
  readonly registries: readonly string[];
  /** Holds the folders npm/ and python/ that images are built from. */
  readonly imagesDir: string;
};

export type GateNeeds = {
  readonly engine: Engine;
  /** The files of a folder as a tar archive, with a lock where there is one. */
  readonly readBuildContext: (folder: string, lock?: string) => Promise<Buffer>;
  /** The lock in such an archive. */
  readonly readLock: (context: Buffer) => string | undefined;
};

/** A build's context is read for the lock in it, which may have thousands of packages. */
const mostContextBytes = 8 * 1024 * 1024;

/** Decides what of a client's call the engine gets to hear. Throws HubError for what it does not admit. */
export function createGate(
  options: GateOptions,
  { engine, readBuildContext, readLock }: GateNeeds,
): (asked: Asked) => Promise<Admitted> {
  const holdings = createHoldings(engine, options.hubId);

  return async ({ method, target, readBody }) => {
    const parsed = parseTarget(target);
    const { duty, hijack, ...route } = findRoute(method, parsed);
    const finish = (path: string, query: URLSearchParams, body?: Admitted['body']): Admitted => ({
      method,
      path: `${parsed.version}${path}${query.size === 0 ? '' : `?${query.toString()}`}`,
      hijack,
      ...(body === undefined ? {} : { body }),
    });

    switch (duty.duty) {
      case 'none':
        return finish(route.path, rebuildQuery(parsed.query, route.query));
      case 'own': {
        const query = rebuildQuery(parsed.query, route.query);
        const id = await findOwned(engine, duty.object, duty.name, options.hubId);
        return finish(route.path.replace('{id}', id), query);
      }
      case 'pull': {
        const query = rebuildQuery(parsed.query, route.query);
        checkRegistry(query.get('fromImage') ?? '', options.registries);
        return finish(route.path, query);
      }
      case 'built_image': {
        const query = rebuildQuery(parsed.query, route.query);
        await checkBuilt(engine, duty.reference);
        return finish(parsed.path, query);
      }
      case 'start_container': {
        const query = rebuildQuery(parsed.query, route.query);
        const id = await findOwned(engine, 'container', duty.name, options.hubId);
        // A link may have been put in the place of a folder since the creation; the engine would follow it.
        for (const { source } of await bindsOf(engine, id))
          await checkSource(source, options.mountRoots);
        return finish(route.path.replace('{id}', id), query);
      }
      case 'filter': {
        const { filters, rest } = takeFilters(parsed.query);
        const query = rebuildQuery(rest, route.query);
        query.set('filters', rebuildFilters(filters, `${hubLabel}=${options.hubId}`, duty.others));
        return finish(route.path, query);
      }
      case 'own_volumes': {
        // Without it the engine measures images and containers as well.
        if (parsed.query.get('type') !== 'volume') throw refusal('/system/df without type=volume');
        const answer = { Volumes: await ownVolumes(engine, options) };
        return { ...finish(route.path, rebuildQuery(parsed.query, route.query)), answer };
      }
      case 'create_container': {
        const name = parsed.query.get('name');
        const query = rebuildQuery(parsed.query, { name: each => containerName(each, options) });
        if (name === undefined) throw refusal('a container without a name');
        const container = rebuildContainer(await readBody(), options);
        const settled = await settle(container);
        const done = await holdings.reserve(name, bindsIn(settled));
        return { ...finish(route.path, query, json(settled)), done };
      }
      case 'create_network': {
        const query = rebuildQuery(parsed.query, {});
        return finish(route.path, query, json(rebuildNetwork(await readBody(), options)));
      }
      case 'build': {
        const { base, network, query } = rebuildBuild(parsed.query);
        // By its id, as the default network and the host's are names as well.
        const isNone = network === 'none';
        const id = isNone ? network : await findOwned(engine, 'network', network, options.hubId);
        query.set('networkmode', id);
        const lock = checkLock(base, readLock(Buffer.from(await readBody(mostContextBytes))));
        const content = await readBuildContext(join(options.imagesDir, base), lock);
        return finish(route.path, query, { type: 'application/x-tar', content });
      }
    }
  };

  /** What only the engine and the file system know of a container's creation. */
  async function settle(container: Container): Promise<Container> {
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

function json(value: unknown): Admitted['body'] {
  return { type: 'application/json', content: JSON.stringify(value) };
}
