import { unescape } from 'node:querystring';
import {
  type Clock,
  type Log,
  HubError,
  createAbortScope,
  http,
  withoutSecrets,
  isLoopback,
} from '#core';
import type { AccessTokens } from '#oauth';
import {
  type Exit,
  type Instance,
  type LaunchSpec,
  type RemoteTarget,
  type Runtime,
  throwIfCancelled,
} from '#runtimes';
import { createRedaction } from '#telemetry';
import { authorizedClient } from './authorized-client.ts';
import {
  type RemoteEndpoint,
  type Reconnect,
  type Transport,
  createAgents,
  createHttpClient,
} from './http-client.ts';
import { openSse } from './sse.ts';
import { createStreamable } from './streamable.ts';

type RemoteRuntimeOptions = {
  readonly connectTimeoutMs?: number;
  readonly reconnect?: Reconnect;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Returns the access tokens for a server. Absent: the hub logs in to no server. */
  readonly tokensOf?: (server: string) => AccessTokens;
  /** The hub's address on its own machine, in the format of `addressOf`. Undefined while the hub does not listen. */
  readonly hubUrl?: () => string | undefined;
};

const defaults = {
  connectTimeoutMs: 10_000,
  reconnect: { firstMs: 1000, maxMs: 30_000, attempts: 5 },
};
/** Default timeout in ms for ending a session. */
const farewellMs = 5000;

/** Connects to remote servers over streamable HTTP, or the older HTTP with SSE. */
export function createRemoteRuntime(options: RemoteRuntimeOptions, needs: Needs): Runtime {
  const { connectTimeoutMs, reconnect } = { ...defaults, ...options };
  const agents = createAgents();
  return {
    kind: 'remote',
    async probe() {
      return { healthy: true, detail: 'remote servers are reached over HTTP' };
    },
    async launch(spec, _events, signal) {
      const { server, target } = spec;
      if (target.kind !== 'remote')
        throw new HubError('HUB_INTERNAL', `${server} is not remote but ${target.kind}`);
      throwIfCancelled(spec, signal);
      const endpoint = endpointOf(spec, target, reconnect);
      refuseHubItself(endpoint, needs.hubUrl?.());
      const plain = createHttpClient({ server, connectTimeoutMs }, { ...needs, agents });
      // An entry with its own `authorization` header needs no login.
      const tokens = 'authorization' in endpoint.headers ? undefined : needs.tokensOf?.(server);
      const http = tokens ? authorizedClient(plain, tokens) : plain;
      using opening = createAbortScope([signal], deadlineOf(spec, needs));
      try {
        const transport =
          target.transport === 'http'
            ? createStreamable(endpoint, { ...needs, http })
            : await openSse(endpoint, { ...needs, http }, opening.signal);
        return createInstance(endpoint, transport, needs);
      } catch (error) {
        throwIfCancelled(spec, opening.signal);
        throw error;
      }
    },
  };
}

/** Returns the deadline for opening the event stream: a server may accept the connection and send nothing. */
const deadlineOf = ({ server, timeoutMs }: LaunchSpec, { clock }: Pick<Needs, 'clock'>) =>
  timeoutMs === undefined
    ? undefined
    : {
        clock,
        limitMs: timeoutMs,
        reason: () =>
          new HubError(
            'HUB_SERVER_START_FAILED',
            `${server} did not open its event stream within ${timeoutMs / 1000} s. Raise "start_timeout" if it needs longer`,
          ),
      };

function createInstance(
  endpoint: RemoteEndpoint,
  transport: Transport,
  { clock }: Pick<Needs, 'clock'>,
): Instance {
  const { channel } = transport;
  const farewell = new AbortController();
  const exited = channel.closed.then(async ({ reason, error }): Promise<Exit> => {
    using late = createAbortScope([farewell.signal], { clock, limitMs: farewellMs });
    // After an error the session is already lost.
    if (!error) await transport.endSession(late.signal);
    return { detail: reason };
  });
  return {
    about: { url: withoutSecrets(endpoint.url) },
    channel,
    ...(transport.mayKeepSessions && { mayKeepSessions: transport.mayKeepSessions }),
    exited,
    async stop({ graceMs }) {
      channel.close(`${endpoint.server} was disconnected`);
      using _timer = clock.after(graceMs, () => farewell.abort());
      return await exited;
    },
    async usage() {
      return undefined;
    },
  };
}

function endpointOf(spec: LaunchSpec, target: RemoteTarget, reconnect: Reconnect): RemoteEndpoint {
  const invalid = (problem: string, cause?: unknown) =>
    new HubError('HUB_LAUNCH_INVALID', `${spec.server}: ${problem}`, { cause });
  const url = URL.parse(target.url);
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid('"url" must be an http or https address, such as https://host/mcp');
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(target.headers)) {
    try {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
    } catch (cause) {
      const advice = 'look for line breaks and letters outside Latin-1';
      throw invalid(`"headers" has an entry "${name}" that HTTP does not allow: ${advice}`, cause);
    }
    // Lower case, so that headers of the protocol override those of the entry.
    headers[name.toLowerCase()] = value;
  }
  const { username, password, searchParams } = url;
  // All values of the entry that are sent and may be secrets.
  const secrets = [
    ...Object.values(headers),
    ...searchParams.values(),
    ...[username, password].flatMap(text => [text, unescape(text)]),
  ];
  const { text: redact } = createRedaction(() => secrets);
  return { ...spec, url, headers, reconnect, redact };
}

/**
 * Throws HUB_LAUNCH_INVALID if the URL is an endpoint of this hub that lists the tools of the entry itself. Each time
 * the hub read that list, it would find its own tools again under one more prefix, and the list would change and grow.
 */
function refuseHubItself({ server, url }: RemoteEndpoint, hubUrl: string | undefined): void {
  if (hubUrl === undefined || originHere(url) !== originHere(new URL(hubUrl))) return;
  const found = /^\/(?:mcp|sse)(?:\/([^/]*))?\/?$/.exec(url.pathname);
  if (!found) return;
  const name = unescape(found[1] ?? '');
  // An endpoint without a name serves all servers, "@" begins a profile.
  if (name === '' || name.startsWith('@') || name === server)
    throw new HubError(
      'HUB_LAUNCH_INVALID',
      `${server}: "url" is the address of this hub itself, which would list its own tools again and again. Remove the entry`,
      { data: { server } },
    );
}

/** Returns the origin of a URL, with `localhost` for all loopback and unspecified addresses. */
function originHere({ protocol, hostname, port }: URL): string {
  const isHere = isLoopback(hostname) || hostname === '0.0.0.0' || hostname === '[::]';
  return `${protocol}//${isHere ? 'localhost' : hostname}:${port}`;
}
