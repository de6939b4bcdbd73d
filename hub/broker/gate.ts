import { join } from 'node:path';
import { type Build, rebuildBuild } from './build.ts';
import { bindsOf, createContainerRegistry } from './container-registry.ts';
import { type CheckedContainer, checkAgent, containerName, rebuildContainer } from './container.ts';
import type { EngineSocket } from './engine-socket.ts';
import { checkSource, resolveSource } from './mounts.ts';
import {
  forwarderName,
  rebuildConnection,
  rebuildDisconnection,
  rebuildForwarder,
  rebuildNetwork,
} from './network.ts';
import {
  checkBuilt,
  checkVolume,
  engineLimits,
  findEngineData,
  findIsolated,
  findOwned,
  ownVolumes,
  requireSubpaths,
} from './ownership.ts';
import { checkLock } from './package-lock.ts';
import { refusal, show } from './refusal.ts';
import { checkRegistry } from './registries.ts';
import { checkRepositoryContainer } from './repository.ts';
import { findRoute } from './routes.ts';
import { hubLabel, isBuildName, managedLabel, networkOf } from './schema.ts';
import type { BrokerOptions } from './settings.ts';
import { parseTarget, rebuildFilters, rebuildQuery } from './target.ts';

/** A call to the engine, built only from checked parts of the client's request. */
export type AdmittedCall = {
  readonly method: string;
  readonly path: string;
  readonly body?: { readonly type: string; readonly content: string | Buffer };
  /** True if the connection becomes a raw stream in both directions. */
  readonly hijack: boolean;
  /** The response, if the broker answers the call itself; the call is then not forwarded. */
  readonly answer?: unknown;
  /** Must be called once the engine has responded or failed. */
  readonly done?: () => void;
};

type BrokerRequest = {
  readonly method: string;
  readonly target: string;
  /** Reads the client's body, up to a limit in bytes. Called only if the call needs its body. */
  readonly readBody: (maxBytes?: number) => Promise<string>;
};

/**
 * Packs and reads build contexts. The hub's own Docker runtime uses the same functions, so that a package always gives
 * the same image.
 */
export type BuildContexts = {
  /** Packs a folder and an optional package lock into a tar archive. */
  readonly readBuildContext: (folder: string, lock?: string) => Promise<Buffer>;
  /** Returns the package lock in a build context, if any. */
  readonly readLock: (context: Buffer) => string | undefined;
};

type GateNeeds = BuildContexts & { readonly engine: Pick<EngineSocket, 'getJson'> };

/** Maximum size in bytes of a client's build context, which is read only for its package lock. */
const maxContextBytes = 8 * 1024 * 1024;

/** Checks a client's call and builds the call for the engine. Rejects with HubError for a forbidden call. */
export function createGate(
  options: Omit<BrokerOptions, 'socketPath' | 'enginePath'>,
  { engine, readBuildContext, readLock }: GateNeeds,
): (asked: BrokerRequest) => Promise<AdmittedCall> {
  const { hubId, mountRoots } = options;
  const containers = createContainerRegistry(engine, options);

  async function admit({ method, target, readBody }: BrokerRequest): Promise<AdmittedCall> {
    const parsed = parseTarget(target);
    const { handling, hijack, name, ...route } = findRoute(method, parsed);
    const queryOf = (allowed = route.query) => rebuildQuery(parsed.query, allowed);
    const finish = (
      path: string,
      query: URLSearchParams,
      body?: AdmittedCall['body'],
    ): AdmittedCall => ({
      method,
      path: `${parsed.version}${path}${query.size === 0 ? '' : `?${query.toString()}`}`,
      hijack,
      ...(body && { body }),
    });

    switch (handling.kind) {
      case 'none':
        return finish(route.path, queryOf());
      case 'own': {
        const query = queryOf();
        const id = await findOwned(engine, handling.object, name, hubId);
        return finish(route.path.replace('{id}', id), query);
      }
      case 'pull': {
        const query = queryOf();
        checkRegistry(query.get('fromImage') ?? '', options.registries);
        return finish(route.path, query);
      }
      case 'built_image': {
        const query = queryOf();
        await checkBuilt(engine, name);
        return finish(parsed.path, query);
      }
      case 'built_images': {
        const query = queryOf();
        // The hub never sees images that no hub built, whatever it asks for.
        query.set('filters', rebuildFilters(undefined, `${managedLabel}=true`, []));
        return finish(route.path, query);
      }
      case 'start_container': {
        const query = queryOf();
        const id = await findOwned(engine, 'container', name, hubId);
        // Since the creation, a folder may have been replaced by a symbolic link, which the engine would follow.
        const binds = await bindsOf(engine, id);
        const engineData = binds.length > 0 ? await findEngineData(engine) : undefined;
        for (const { source } of binds) await checkSource(source, mountRoots, engineData);
        return finish(route.path.replace('{id}', id), query);
      }
      case 'filter': {
        const rest = new Map(parsed.query);
        rest.delete('filters');
        const query = rebuildQuery(rest, route.query);
        const filters = parsed.query.get('filters');
        query.set('filters', rebuildFilters(filters, `${hubLabel}=${hubId}`, handling.others));
        return finish(route.path, query);
      }
      case 'own_volumes': {
        // Without this parameter, the engine also measures images and containers.
        if (parsed.query.get('type') !== 'volume') throw refusal('/system/df without type=volume');
        const answer = { Volumes: await ownVolumes(engine, options) };
        return { ...finish(route.path, queryOf()), answer };
      }
      case 'limits':
        return { ...finish(route.path, queryOf()), answer: await engineLimits(engine) };
      case 'create_container': {
        const wanted = parsed.query.get('name');
        const query = queryOf({ name: { test: each => containerName(each, options) } });
        if (wanted === undefined) throw refusal('a container without a name');
        const { container, binds } = await containerOf(wanted, await readBody());
        const done = await containers.reserve(wanted, binds);
        return { ...finish(route.path, query, json(container)), done };
      }
      case 'create_network': {
        const query = queryOf({});
        return finish(route.path, query, json(rebuildNetwork(await readBody(), options)));
      }
      case 'connect_network':
      case 'disconnect_network': {
        const query = queryOf({});
        const id = await findOwned(engine, 'network', name, hubId);
        const rebuild =
          handling.kind === 'connect_network' ? rebuildConnection : rebuildDisconnection;
        const body = rebuild(await readBody(), options);
        const Container = await findOwned(engine, 'container', body.Container, hubId);
        return finish(route.path.replace('{id}', id), query, json({ ...body, Container }));
      }
      case 'build': {
        const { base, network, systemImage, query } = rebuildBuild(parsed.query);
        if (systemImage !== undefined) await checkBuilt(engine, systemImage);
        // The network's id, because names would also match the default network and the host's.
        query.set('networkmode', await buildNetworkId(network));
        const content = await buildContext(base, await readBody(maxContextBytes));
        return finish(route.path, query, { type: 'application/x-tar', content });
      }
    }
  }

  /** Packs the hub's own files for an image. Only the package lock is taken from the client's context. */
  async function buildContext(base: Build['base'], context: string): Promise<Buffer> {
    const isPackage = base === 'npm' || base === 'python';
    const lock = isPackage ? checkLock(base, readLock(Buffer.from(context))) : undefined;
    return await readBuildContext(join(options.imagesDir, base), lock);
  }

  async function buildNetworkId(name: string): Promise<string> {
    if (name === 'none') return name;
    const id = await findOwned(engine, 'network', name, hubId);
    if (isBuildName(name, options)) return id;
    throw refusal(`a build in the network ${show(name)}, which is not one of builds`);
  }

  /** Rebuilds a container from the client's body, and returns it with the folders that it mounts. */
  async function containerOf(name: string, body: string) {
    if (name === forwarderName(options)) return { container: await forwarder(body), binds: [] };
    const asked = rebuildContainer(body, options);
    checkAgent(name, asked, options);
    const container = await resolveHostConfig(name, asked);
    await checkRepositoryContainer(name, container, options);
    return { container, binds: bindsIn(container) };
  }

  async function forwarder(body: string) {
    const { HostConfig, ...rest } = rebuildForwarder(body, options);
    const NetworkMode = await findOwned(engine, 'network', HostConfig.NetworkMode, hubId);
    return { ...rest, HostConfig: { ...HostConfig, NetworkMode } };
  }

  /**
   * Checks volumes, mounts and the network of a container with the engine and the file system, and resolves links and
   * names.
   */
  async function resolveHostConfig(
    name: string,
    container: CheckedContainer,
  ): Promise<CheckedContainer> {
    const host = container.HostConfig;
    const network = networkOf(name, options);
    if (host.NetworkMode !== 'none' && host.NetworkMode !== network)
      throw refusal(
        `the container ${show(name)} in the network ${show(host.NetworkMode)}: it must be its own, ${show(network)}, or "none"`,
      );
    const Mounts = [];
    const hasBinds = host.Mounts?.some(mount => mount.Type === 'bind') ?? false;
    const engineData = hasBinds ? await findEngineData(engine) : undefined;
    for (const mount of host.Mounts ?? []) {
      if (mount.Type === 'volume') {
        if ('Subpath' in mount.VolumeOptions) await requireSubpaths(engine);
        else await checkVolume(engine, mount.Source, options);
        Mounts.push(mount);
      } else {
        const Source = await resolveSource(mount.Source, mountRoots, engineData);
        Mounts.push({ ...mount, Source });
      }
    }
    const NetworkMode =
      host.NetworkMode === 'none' ? 'none' : await findIsolated(engine, network, hubId);
    return { ...container, HostConfig: { ...host, Mounts, NetworkMode } };
  }

  return admit;
}

const bindsIn = ({ HostConfig: { Mounts = [] } }: CheckedContainer) =>
  Mounts.filter(mount => mount.Type === 'bind').map(mount => ({
    source: mount.Source,
    readOnly: mount.ReadOnly,
  }));

const json = (value: unknown): AdmittedCall['body'] => ({
  type: 'application/json',
  content: JSON.stringify(value),
});
