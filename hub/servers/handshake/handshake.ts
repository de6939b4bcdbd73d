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
import type { ClientOfSession } from '../instances/client-of-session.ts';
import { eraToldBy } from './eras.ts';

/** What a server said when it was initialised or discovered. */
export type Introduction = {
  readonly era: Era;
  /** The whole answer: `payload` is the result as the server wrote it. */
  readonly answer: Answer;
  readonly protocolVersion: string;
  readonly capabilities: { readonly [name: string]: unknown };
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly instructions: string | undefined;
};

export const hubInfo = { name: 'agenthub', title: 'AgentHub' };

/** What some client of the hub may be able to do: a server that all share is told the whole of it. */
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
const modernCapabilities = {
  ...shared,
  extensions: { [tasksExtension]: {} },
};

export type Greeting = {
  readonly server: string;
  readonly hubVersion: string;
  readonly timeoutMs: number;
  /** The client that the server works for alone. */
  readonly client?: ClientOfSession | undefined;
};

/** Where nothing is known of a server's era, it is asked in the newer one first. */
export type Opening = Era | 'newest';

/** A server that may know no discovery is not waited for as long as one that is known to have it. */
const discoverMs = 5_000;

/** What carries the hub's own requests to a server. */
export type Asking = Pick<Upstream, 'request' | 'listen'>;

/** Greets a server in an era. Rejects with HubError where it does not answer. */
export async function introduce(
  opening: Opening,
  greeting: Greeting,
  upstream: Asking & Pick<Upstream, 'notify'>,
): Promise<Introduction> {
  if (opening === 'legacy') return await initialize(greeting, upstream);
  const asking = asModern(upstream, greeting.hubVersion);
  if (opening === 'modern') return await discover(greeting, asking);
  const timeoutMs = Math.min(greeting.timeoutMs, discoverMs);
  try {
    return await discover({ ...greeting, timeoutMs }, asking);
  } catch (error) {
    const isSilent = error instanceof HubError && error.code === 'HUB_CALL_TIMEOUT';
    if (!isSilent && eraToldBy(error) !== 'legacy') throw error;
    return await initialize(greeting, upstream);
  }
}

/**
 * Initialises a server (MCP 2025-11-25, lifecycle), as the client of a session or as all of them. Rejects
 * with HubError where it does not answer.
 */
export async function initialize(
  { server, hubVersion, timeoutMs, client }: Greeting,
  upstream: Pick<Upstream, 'request' | 'notify'>,
): Promise<Introduction> {
  const said: { readonly capabilities: unknown; readonly clientInfo: unknown } = client
    ? { capabilities: JSON.parse(client.capabilities), clientInfo: JSON.parse(client.clientInfo) }
    : { capabilities: legacyCapabilities, clientInfo: { ...hubInfo, version: hubVersion } };
  const answer = await upstream.request(
    'initialize',
    { protocolVersion: latestVersion, ...said },
    timeoutMs,
  );
  const introduction = introductionOf(server, answer);
  upstream.notify('notifications/initialized');
  return introduction;
}

/** What the answer to `initialize` says. Throws HUB_SERVER_PROTOCOL for a version that the hub does not speak. */
export function introductionOf(server: string, answer: Answer): Introduction {
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

/**
 * Asks a server of the stateless revision what it is (MCP 2026-07-28, server/discover). Rejects with
 * HubError where it does not answer, or is none; `eraToldBy` tells which.
 */
export async function discover(
  { server, timeoutMs }: Greeting,
  asking: Pick<Asking, 'request'>,
): Promise<Introduction> {
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
  return {
    era: 'modern',
    answer,
    protocolVersion: modernVersion,
    ...introduced(answer, info),
  };
}

/**
 * Resolves when a server answers at all: a refusal is a sign of life too, unless it is a mere status of its
 * host. Rejects with HubError.
 */
export async function needAlive(
  asking: Pick<Asking, 'request'>,
  timeoutMs: number,
  method: 'ping' | 'server/discover' = 'ping',
): Promise<void> {
  try {
    await asking.request(method, undefined, timeoutMs);
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_SERVER_PROTOCOL') throw error;
  }
}

/** The hub's own requests with the metadata that MCP 2026-07-28 wants in each. */
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

function introduced(
  answer: Answer,
  info: unknown,
): Pick<Introduction, 'capabilities' | 'serverInfo' | 'instructions'> {
  const result = membersOf(answer.bytes, answer.payload);
  const capabilities = valueOf(answer.bytes, result?.get('capabilities'));
  const instructions = valueOf(answer.bytes, result?.get('instructions'));
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: {
      name: isObject(info) ? text(info['name']) : '',
      version: isObject(info) ? text(info['version']) : '',
    },
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
