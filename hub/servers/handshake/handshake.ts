import { HubError, isObject } from '#core';
import { type Answer, membersOf, valueOf } from '#jsonrpc';
import {
  type Era,
  isKnownVersion,
  latestVersion,
  metaKeys,
  modernVersion,
  protocolVersions,
  tasksExtension,
} from '#mcp';
import type { Upstream } from '#upstream';
import { eraToldBy } from './eras.ts';

/** The result of `initialize` or `server/discover`. */
export type ServerInfo = {
  readonly era: Era;
  /** The whole response; `payload` is the span of the result as the server wrote it. */
  readonly answer: Answer;
  readonly protocolVersion: string;
  readonly capabilities: { readonly [name: string]: unknown };
  /** The name and version of the server's program (`serverInfo` in MCP). */
  readonly implementation: { readonly name: string; readonly version: string };
  readonly instructions: string | undefined;
};

/** Capabilities and `clientInfo` that a client sent in `initialize`, as JSON texts. */
export type ClientOfSession = { readonly capabilities: string; readonly clientInfo: string };

export const hubInfo = { name: 'agenthub', title: 'AgentHub' };

/** Capabilities declared to a server that several clients share: all that some client may have. */
const shared = {
  roots: { listChanged: true },
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
};
const legacyCapabilities = {
  ...shared,
  tasks: {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  },
};
const modernCapabilities = { ...shared, extensions: { [tasksExtension]: {} } };

export type HandshakeOptions = {
  readonly server: string;
  readonly hubVersion: string;
  readonly timeoutMs: number;
  /** Client capabilities to declare. Absent: all that some client may have. */
  readonly capabilities?: object | undefined;
  /** The client that the instance belongs to. Absent: several clients share the instance. */
  readonly client?: ClientOfSession | undefined;
};

/** The era of the handshake; `newest` tries 2026-07-28 first, for a server whose era is unknown. */
export type Opening = Era | 'newest';

/** Timeout of `server/discover` for a server that may not know the method, in ms. */
const discoverMs = 5_000;

/** The part of an upstream that sends the hub's own requests to a server. */
export type Asking = Pick<Upstream, 'request' | 'listen'>;

/** Performs the handshake. Rejects with HubError if the server does not answer. */
export async function handshake(
  opening: Opening,
  options: HandshakeOptions,
  upstream: Asking & Pick<Upstream, 'notify'>,
): Promise<ServerInfo> {
  if (opening === 'legacy') return await initialize(options, upstream);
  const asking = asModern(upstream, options.hubVersion);
  if (opening === 'modern') return await discover(options, asking);
  const timeoutMs = Math.min(options.timeoutMs, discoverMs);
  try {
    return await discover({ ...options, timeoutMs }, asking);
  } catch (error) {
    const isSilent = error instanceof HubError && error.code === 'HUB_CALL_TIMEOUT';
    if (!isSilent && eraToldBy(error) !== 'legacy') throw error;
    return await initialize(options, upstream);
  }
}

/** Initialises a server (MCP 2025-11-25, lifecycle). Rejects with HubError if it does not answer. */
export async function initialize(
  { server, hubVersion, timeoutMs, capabilities = legacyCapabilities, client }: HandshakeOptions,
  upstream: Pick<Upstream, 'request' | 'notify'>,
): Promise<ServerInfo> {
  const said: { readonly capabilities: unknown; readonly clientInfo: unknown } = client
    ? { capabilities: JSON.parse(client.capabilities), clientInfo: JSON.parse(client.clientInfo) }
    : { capabilities, clientInfo: { ...hubInfo, version: hubVersion } };
  const params = { protocolVersion: latestVersion, ...said };
  const answer = await upstream.request('initialize', params, timeoutMs);
  const serverInfo = serverInfoOf(server, answer);
  upstream.notify('notifications/initialized');
  return serverInfo;
}

/** Reads the result of `initialize`. Throws HUB_SERVER_PROTOCOL for a protocol version that the hub does not speak. */
export function serverInfoOf(server: string, answer: Answer): ServerInfo {
  const result = membersOf(answer.bytes, answer.payload);
  const protocolVersion = valueOf(answer.bytes, result?.get('protocolVersion'));
  if (!isKnownVersion(protocolVersion))
    throw new HubError(
      'HUB_SERVER_PROTOCOL',
      `${server} speaks MCP ${JSON.stringify(protocolVersion)}; the hub speaks ${protocolVersions.join(', ')}`,
      { data: { server, retryable: false } },
    );
  const info = valueOf(answer.bytes, result?.get('serverInfo'));
  return { era: 'legacy', answer, protocolVersion, ...introduced(answer, info) };
}

/** Sends `server/discover` (MCP 2026-07-28). Rejects with HubError, from which `eraToldBy` reads the server's era. */
export async function discover(
  { server, timeoutMs }: HandshakeOptions,
  asking: Pick<Asking, 'request'>,
): Promise<ServerInfo> {
  const method = 'server/discover';
  const answer = await asking.request(method, {}, timeoutMs);
  const result = membersOf(answer.bytes, answer.payload);
  const versions = valueOf(answer.bytes, result?.get('supportedVersions'));
  const refused = (why: string) =>
    new HubError('HUB_SERVER_PROTOCOL', `${server} ${why}`, { data: { server, method } });
  if (!Array.isArray(versions)) throw refused(`answered ${method} without "supportedVersions"`);
  if (!versions.includes(modernVersion))
    throw refused(`speaks MCP ${JSON.stringify(versions)}; the hub speaks ${modernVersion}`);
  const meta = membersOf(answer.bytes, result?.get('_meta'));
  const info = valueOf(answer.bytes, meta?.get(metaKeys.serverInfo));
  return { era: 'modern', answer, protocolVersion: modernVersion, ...introduced(answer, info) };
}

/**
 * Returns how the hub speaks to a server of this era. `isStateless`: notifications arrive on a subscription stream
 * only.
 */
export const speechOf = (era: Era, upstream: Asking, hubVersion: string) =>
  era === 'modern'
    ? { asking: asModern(upstream, hubVersion), isStateless: true }
    : { asking: upstream, isStateless: false };

/**
 * Returns the response from which the next run of the hub resumes the session; undefined for a server without sessions.
 */
export const resumableAnswer = ({ era, answer }: ServerInfo): string | undefined =>
  era === 'legacy' ? answer.bytes.toString() : undefined;

/** Resolves when a server answers a request, even with a JSON-RPC error. Rejects with HubError if it does not. */
export async function needAnswer(
  { upstream, serverInfo }: { readonly upstream: Asking; readonly serverInfo: ServerInfo },
  hubVersion: string,
  timeoutMs: number,
): Promise<void> {
  const { asking, isStateless } = speechOf(serverInfo.era, upstream, hubVersion);
  try {
    // The cheapest request that every server of its era answers.
    await asking.request(isStateless ? 'server/discover' : 'ping', undefined, timeoutMs);
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_SERVER_PROTOCOL') throw error;
  }
}

/** Wraps an upstream so that the hub's own requests carry the metadata that MCP 2026-07-28 requires. */
export function asModern(upstream: Asking, hubVersion: string): Asking {
  const meta = {
    [metaKeys.protocolVersion]: modernVersion,
    [metaKeys.clientCapabilities]: modernCapabilities,
    [metaKeys.clientInfo]: { ...hubInfo, version: hubVersion },
  };
  return {
    request: (method, params, timeoutMs) =>
      upstream.request(method, { ...params, _meta: meta }, timeoutMs),
    listen: params => upstream.listen({ ...params, _meta: meta }),
  };
}

function introduced(answer: Answer, info: unknown) {
  const result = membersOf(answer.bytes, answer.payload);
  const capabilities = valueOf(answer.bytes, result?.get('capabilities'));
  const instructions = valueOf(answer.bytes, result?.get('instructions'));
  const { name, version } = isObject(info) ? info : {};
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    implementation: { name: text(name), version: text(version) },
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
