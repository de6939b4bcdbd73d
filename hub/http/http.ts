import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { HubError, addressOf, messageOf } from '#core';
import { noBudget } from '#transports';
import { createRouteAdmission } from './admission.ts';
import { createContainerUsages } from './container-usage.ts';
import { createFastifyApp } from './fastify-app.ts';
import { type ListenerNeeds, type ListenerOptions, createListener } from './listener.ts';
import { type GuardOptions, createGuard } from './guard.ts';
import type { HttpNeeds } from './http-needs.ts';
import { addressesOfNetworks, listenOn } from './listen.ts';
import { createLogin } from './login.ts';
import { createPeers } from './peers.ts';

export type HttpOptions = GuardOptions &
  ListenerOptions & {
    readonly ownerKey: string;
    /** Names of this machine whose addresses it listens on, besides loopback, instead of `host`. */
    readonly networks?: readonly string[];
    readonly port: number;
    readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  };

/** The hub's HTTP server. It listens and answers calls after `start`. */
export function createHttp(options: HttpOptions, needs: HttpNeeds) {
  const { servers, transports, access = {}, system } = needs;
  const login = createLogin(options, system);
  const guard = createGuard(options, {
    isLoggedIn: headers => login.scopeOf(headers) === 'administer',
    ...access,
  });
  const peers = createPeers(access.peers ?? { tables: undefined, uid: 0 });
  const admission = createRouteAdmission(options, { guard, peers, login, system });
  const usages = createContainerUsages(
    () => servers.all.flatMap(one => [one, ...servers.instances.list(one)]),
    system.clock,
  );
  let app: FastifyInstance | undefined;
  let loading: Promise<FastifyInstance> | undefined;
  let listening: Awaited<ReturnType<typeof listenOn>> | undefined;
  let address = '';
  let url = '';

  const routes = async () =>
    (app = await (loading ??= createFastifyApp(options, needs, { admission, login, usages })));

  /** Answers by a route, after loading the routes if necessary. */
  const fallback: RequestListener = (request, response) => {
    if (app) app.routing(request, response);
    else void routes().then(loaded => loaded.routing(request, response));
  };

  return {
    name: 'http',
    /** Its address after `start`, with the host as configured: `http://127.0.0.1:9090`. */
    get address() {
      return address;
    },
    /** Its address on this machine after `start`: `http://localhost:9090`. */
    get url() {
      return url;
    },
    /** Its sockets after `start`: `127.0.0.1:9090`. */
    get sockets() {
      return listening?.sockets ?? [];
    },
    /** A new link that logs a browser in to the dashboard as the owner, once. */
    createLoginLink: () => `${url}${login.createLink().path}`,
    async start(): Promise<void> {
      listening = await openListener(options, {
        servers,
        unfinished: noBudget,
        unread: noBudget,
        ...transports,
        clock: system.clock,
        admit: request => guard.check(request, 'call').principal,
        peers,
        fallback,
      });
      const { port } = listening;
      const host = isIPv6(options.host) ? `[${options.host}]` : options.host;
      address = `${options.tls ? 'https' : 'http'}://${host}:${port}`;
      url = addressOf({ host: options.host, port, isSecure: options.tls !== undefined });
    },
    /** Loads the routes, which the first request other than a call would wait for. */
    async load(): Promise<void> {
      await routes();
    },
    async stop(): Promise<void> {
      await listening?.close();
      await (await loading)?.close();
    },
    /** The current metrics, as `/metrics` shows them. */
    async measure() {
      const { readMetricFamilies } = await import('./metric-families.ts');
      return await readMetricFamilies({ ...needs, usages });
    },
  };
}

async function openListener(options: HttpOptions, needs: ListenerNeeds) {
  const tls = options.tls && {
    cert: await readPem('ROUTER_TLS_CERT', options.tls.certFile),
    key: await readPem('ROUTER_TLS_KEY', options.tls.keyFile),
  };
  const { networks = [] } = options;
  return await listenOn(
    options,
    () => createListener({ ...options, tls }, needs),
    networks.length === 0 ? undefined : () => addressesOfNetworks(networks),
  );
}

async function readPem(setting: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `${setting}: ${JSON.stringify(file)} cannot be read (${messageOf(error)})`,
      { cause: error },
    );
  }
}
