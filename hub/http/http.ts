import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { HubError, addressOf, messageOf } from '#core';
import { createRouteAdmission } from './admission.ts';
import { createConnectionShares } from './connection-shares.ts';
import { createContainerUsages } from './container-usage.ts';
import { createFastifyApp } from './fastify-app.ts';
import {
  type ClientCertificates,
  type ListenerNeeds,
  type ListenerOptions,
  createListener,
  defaultMaxConnections,
} from './listener.ts';
import { type GuardOptions, createGuard } from './guard.ts';
import type { HttpSystem } from './errors.ts';
import type { HttpNeeds } from './http-needs.ts';
import { createLogin } from './login.ts';
import { createMcpPaths } from './mcp-paths.ts';
import { createPeers } from './peers.ts';
import { type RefusalLogNeeds, createRefusalLog } from './refusal-log.ts';

export type HttpOptions = GuardOptions &
  ListenerOptions & {
    readonly ownerKey: string;
    /** Host names of this machine. The hub listens on their addresses and on loopback, instead of on `host`. */
    readonly networks?: readonly string[];
    readonly port: number;
    readonly tls:
      | {
          readonly certFile: string;
          readonly keyFile: string;
          /** Certificate authorities. Their presence makes the hub request a certificate from clients. */
          readonly clients?: { readonly caFile: string; readonly isRequired: boolean };
        }
      | undefined;
  };

/** Creates the hub's HTTP server, which listens and answers calls after `start`. */
export function createHttp(options: HttpOptions, needs: HttpNeeds) {
  const { servers, transports, access = {}, system } = needs;
  const recordRefusal = needs.telemetry.audit?.recordRefusal;
  const login = createLogin(options, system);
  const guard = createGuard(options, { isLoggedIn: login.isOwner, ...access });
  // A login needs the consent of the owner.
  const offersLogins = () =>
    access.authorization !== undefined && options.administration === 'on' && guard.needsToken();
  const peers = createPeers(access.peers ?? { tables: undefined, uid: 0 });
  const shares = createConnectionShares(options.maxConnections ?? defaultMaxConnections);
  const admission = createRouteAdmission(options, {
    guard,
    peers,
    shares,
    system,
    recordRefusal,
    clients: access.clients,
    offersLogins,
  });
  const usages = createContainerUsages(
    () => servers.all.flatMap(one => [one, ...servers.instances.list(one)]),
    system.clock,
  );
  const paths = createMcpPaths({ servers, profiles: needs.router.profiles });
  const parts = { admission, paths, login, usages, needsToken: guard.needsToken };
  let app: FastifyInstance | undefined;
  let loading: Promise<FastifyInstance> | undefined;
  let listening: Awaited<ReturnType<typeof listenOn>> | undefined;
  let address = '';
  let url = '';

  const routes = async () =>
    (app = await (loading ??= createFastifyApp(options, needs, { ...parts, offersLogins })));

  /** Answers by a Fastify route, and loads the routes first if necessary. */
  const fallback: RequestListener = (request, response) => {
    if (app) app.routing(request, response);
    else void routes().then(loaded => loaded.routing(request, response));
  };

  return {
    /** Address after `start`, with the host as configured: `http://127.0.0.1:9090`. */
    get address() {
      return address;
    },
    /** Address on this machine after `start`: `http://localhost:9090`. */
    get url() {
      return url;
    },
    /** Sockets after `start`, such as `127.0.0.1:9090`. */
    get sockets() {
      return listening?.sockets ?? [];
    },
    /** Creates a link that logs a browser in to the dashboard as the owner, once. */
    createLoginLink: () => `${url}${login.createLink().path}`,
    async start(): Promise<void> {
      listening = await openListener(options, {
        paths,
        ...transports,
        ...system,
        recordRefusal,
        admission: { admit: guard.admit, mayHold: shares.take },
        peers,
        fallback,
      });
      const { port } = listening;
      const host = isIPv6(options.host) ? `[${options.host}]` : options.host;
      address = `${options.tls ? 'https' : 'http'}://${host}:${port}`;
      url = addressOf({ host: options.host, port, isSecure: options.tls !== undefined });
    },
    /** Loads the routes in advance. Otherwise the first request other than a call would wait for them. */
    async load(): Promise<void> {
      await routes();
    },
    async stop(): Promise<void> {
      await listening?.close();
      await (await loading)?.close();
    },
    /** Reads the current metrics, as `/metrics` shows them. */
    async measure() {
      const { readMetricFamilies } = await import('./metric-families.ts');
      return await readMetricFamilies({ ...needs, usages });
    },
  };
}

async function openListener(
  options: HttpOptions,
  needs: Omit<ListenerNeeds, 'clock'> & RefusalLogNeeds & Pick<HttpSystem, 'clock'>,
) {
  const clients = options.tls?.clients && (await openCertificates(options.tls.clients, needs));
  const tls = options.tls && {
    ...(await readTls(options.tls, needs)),
    ...(clients && { clients }),
  };
  const { networks = [] } = options;
  const listening = await listenOn(
    options,
    () => createListener({ ...options, tls }, needs),
    networks.length === 0 ? undefined : () => addressesOfNetworks(networks),
  );
  // A client that tries this address first reaches the other program.
  for (const address of listening.taken)
    needs.log.warn(
      { address },
      `Another program listens on ${address}, where the hub would listen too, and may receive calls for the hub. Stop that, or choose another port by --port or ROUTER_PORT`,
    );
  return listening;
}

/** Reads the files of TLS, and logs a warning if the certificate ends soon. */
async function readTls(
  files: NonNullable<HttpOptions['tls']>,
  { clock, log }: Pick<HttpSystem, 'clock' | 'log'>,
) {
  const { expiryWarning, readTlsFiles } = await import('./tls-files.ts');
  const { expiresAt, ...tls } = await readTlsFiles(files);
  const warning = expiryWarning(files, { expiresAt, now: clock.now() });
  if (warning !== undefined) log.warn({}, warning);
  return tls;
}

/** Opens the verification of the certificates of clients. Rejects with HUB_CONFIG_INVALID. */
async function openCertificates(
  { caFile, isRequired }: NonNullable<NonNullable<HttpOptions['tls']>['clients']>,
  needs: RefusalLogNeeds & Pick<HttpSystem, 'clock'>,
): Promise<ClientCertificates> {
  const { createClientCertificates } = await import('./client-certificates.ts');
  const { readAuthorityFile } = await import('./tls-files.ts');
  const logRefusal = createRefusalLog(needs);
  return {
    authorities: await readAuthorityFile(caFile),
    of: createClientCertificates({ isRequired }, needs.clock),
    refused: ({ remoteAddress: address }, message) =>
      logRefusal({ address, refusal: { status: 403, message } }),
  };
}

/**
 * Checks the files of TLS without listening. Resolves with the warnings that a hub would log. Rejects with
 * HUB_CONFIG_INVALID if it could not use the files.
 */
export async function checkTls(
  files: NonNullable<HttpOptions['tls']>,
  { now }: Pick<HttpSystem['clock'], 'now'>,
): Promise<readonly string[]> {
  const { checkTlsFiles, expiryWarning } = await import('./tls-files.ts');
  const expiresAt = await checkTlsFiles(files);
  return [expiryWarning(files, { expiresAt, now: now() }) ?? []].flat();
}

type Place = { readonly host: string; readonly port: number };

/**
 * Listens on a port. For `localhost` it listens on all addresses of that name, because some clients try only one.
 * Rejects with HUB_PORT_TAKEN or HUB_LISTEN_REFUSED if the first address fails; failures of the other addresses are
 * ignored.
 */
export async function listenOn(place: Place, createServer: () => Server, resolve = addressesOf) {
  const { host, port } = place;
  const server = createServer();
  let others: readonly string[];
  try {
    const [first = host, ...rest] = await resolve(host);
    others = rest;
    await listen(server, first, port);
  } catch (error) {
    throw listenError(place, error);
  }
  const bound = server.address();
  const own = typeof bound === 'object' && bound ? bound.port : port;
  const servers = [server];
  const taken: string[] = [];
  for (const other of others) {
    const another = createServer();
    try {
      await listen(another, other, own);
      servers.push(another);
    } catch (error) {
      // With IPv6 switched off, localhost may still resolve to ::1.
      if (isTaken(error)) taken.push(socketAt(other, own));
    }
  }
  return {
    port: own,
    /** Sockets that the hub listens on, such as `127.0.0.1:9090` and `[::1]:9090`. */
    sockets: servers.map(socketOf),
    /** Sockets among the other addresses that another program listens on. */
    taken,
    /** Stops listening and closes all connections. */
    close: async () => void (await Promise.all(servers.map(close))),
  };
}

function socketOf(server: Server): string {
  const bound = server.address();
  if (typeof bound !== 'object' || !bound) return '';
  return socketAt(bound.address, bound.port);
}

function socketAt(address: string, port: number): string {
  return `${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
}

/** Resolves these host names to addresses, and adds loopback. Rejects if the first name is unknown. */
async function addressesOfNetworks(networks: readonly string[]): Promise<readonly string[]> {
  const [first = '', ...rest] = networks;
  const find = async (name: string) => (await lookup(name, { all: true })).map(one => one.address);
  const others = await Promise.all(rest.map(name => find(name).catch(() => [])));
  return [...new Set([...(await find(first)), '127.0.0.1', ...others.flat()])];
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port });
  await once(server, 'listening');
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

function listenError(place: Place, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (isTaken(error))
    return new HubError(
      'HUB_PORT_TAKEN',
      `${place.host}:${place.port} is in use, perhaps by another hub. Stop that, or choose another port by --port or ROUTER_PORT`,
      { cause: error },
    );
  return new HubError(
    'HUB_LISTEN_REFUSED',
    `ROUTER_HOST, ROUTER_PORT: the hub cannot listen on ${place.host}:${place.port} (${messageOf(error)})`,
    { cause: error },
  );
}
