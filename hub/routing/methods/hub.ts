import { isObject } from '#core';
import {
  encodeResult,
  membersOf,
  readAnswer,
  setMembers,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import {
  hubCapability,
  isLogLevel,
  isStateless,
  keepsSessions,
  logLevels,
  metaKeys,
  modernVersions,
  negotiatedVersion,
} from '#mcp';
import { type Server, type ServerInfo, hubInfo } from '#servers';
import { admit, startFor, workerFor } from '../bridge/bridge.ts';
import { completeResult, discovered } from '../bridge/results.ts';
import { type Call, type Reply, callTo, hubReply, invalidRequest, ownCall } from '../call.ts';
import { withoutHeldInstructions } from '../held-items.ts';
import { clientIn } from '../session.ts';
import { type Method, type MethodNeeds, own, serverOf } from './method.ts';

export const ping = own(({ id }) => encodeResult(id, '{}'));

/** Returns the client's revision if the hub supports it, else the newest. The caller stores it only with the answer. */
function negotiate({ request, params, session }: Call): string {
  if (session.client) throw invalidRequest('the session is initialized already');
  const asked = stringAt(request.bytes, params.get('protocolVersion'));
  if (asked === undefined) throw invalidRequest('"params.protocolVersion" must be a string');
  return negotiatedVersion(asked);
}

/**
 * Maximum length of `clientInfo` and `capabilities` together, in characters. The hub keeps them as long as the
 * session.
 */
const maxClientLength = 32 * 1024;

/**
 * Stores `clientInfo` and `capabilities` of `initialize`. Servers get them, and may only request declared
 * capabilities.
 */
function introduce({ request, params, session }: Call): void {
  const client = clientIn(request, params);
  const length = client.capabilities.length + client.clientInfo.length;
  if (length > maxClientLength)
    throw invalidRequest(
      `"params.clientInfo" and "params.capabilities" have ${length} characters, and the hub keeps at most ${maxClientLength} of a client. Leave icons out, or write them as URLs of pictures`,
    );
  session.client = client;
  // A client may first have asked by `server/discover`, whose log level is not that of its session.
  session.requestLevel = undefined;
}

const capabilitiesOfAll = (id: string | undefined) => ({
  ...(id !== undefined && hubCapability(id)),
  completions: {},
  logging: {},
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  tools: { listChanged: true },
});

/** Answers `initialize` for the hub as one server with the capabilities of all its servers. */
export const initializeAll = own((call, needs) => {
  const protocolVersion = negotiate(call);
  introduce(call);
  call.session.protocolVersion = protocolVersion;
  needs.clients.prepareOlder();
  return encodeResult(
    call.id,
    JSON.stringify({
      protocolVersion,
      capabilities: {
        ...capabilitiesOfAll(needs.hub.id),
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      },
      serverInfo: { ...hubInfo, version: needs.hub.version },
    }),
  );
});

/** Time in ms for which clients may cache the hub's `server/discover` result. */
const discoverTtlMs = 60_000;

/** Answers `server/discover` for the hub, to clients without a session. */
export const discoverAll = own(({ id }, needs) => {
  const result = {
    supportedVersions: modernVersions,
    capabilities: { ...capabilitiesOfAll(needs.hub.id), ...extensionsOf(needs.hub.servers.all) },
    _meta: { [metaKeys.serverInfo]: { ...hubInfo, version: needs.hub.version } },
  };
  const cache = { ttlMs: discoverTtlMs, cacheScope: 'public' } as const;
  return encodeResult(id, completeResult(result, cache));
});

function extensionsOf(servers: readonly Server[]): object {
  const all = servers.map(({ running }) => running?.serverInfo.capabilities['extensions']);
  const extensions: unknown = Object.assign({}, ...all.filter(isObject).toReversed());
  return isObject(extensions) && Object.keys(extensions).length > 0 ? { extensions } : {};
}

/** Answers `initialize` with the server's own result. Only the revision negotiated with this client is changed. */
async function answerInitialize(call: Call, needs: MethodNeeds): Promise<Buffer> {
  const protocolVersion = negotiate(call);
  const server = serverOf(call);
  const { session } = call;
  // Stores the client's data before the wait, because messages that the client sends meanwhile need it too.
  introduce(call);
  // The server gives all clients the same result, so the hub's own handshake suffices. A client needs its own
  // instance only for its first call.
  const runningServer = async () => {
    const running = await startFor(call, server);
    return server.config.instance === 'shared'
      ? (await workerFor(server, call, needs.clients)).running
      : running;
  };
  const { serverInfo } = await runningServer().catch((error: unknown) => {
    session.client = undefined;
    throw error;
  });
  session.protocolVersion = protocolVersion;
  if (isStateless(serverInfo))
    return withoutHeldInstructions(
      encodeResult(call.id, JSON.stringify(initialized(serverInfo, protocolVersion))),
      server,
    );
  const { answer } = serverInfo;
  const span = membersOf(answer.bytes, answer.payload)?.get('protocolVersion');
  const edits = span ? [{ span, text: JSON.stringify(protocolVersion) }] : [];
  const id = answer.id ? [{ span: answer.id, text: call.id }] : [];
  return withoutHeldInstructions(splice(answer.bytes, [...id, ...edits]), server);
}

export const initializeOne = own(answerInitialize, call => {
  const server = serverOf(call);
  return server.running ? undefined : server;
});

/** Makes an `initialize` result for a server that does not support `initialize`. */
function initialized(info: ServerInfo, protocolVersion: string): object {
  const { answer, capabilities, implementation, instructions } = info;
  const meta = membersOf(answer.bytes, membersOf(answer.bytes, answer.payload)?.get('_meta'));
  return {
    protocolVersion,
    capabilities,
    // The full `serverInfo`, including icons and other members.
    serverInfo: valueOf(answer.bytes, meta?.get(metaKeys.serverInfo)) ?? implementation,
    ...(instructions !== undefined && { instructions }),
  };
}

/** Answers `server/discover` for one server, to clients without a session. */
async function answerDiscover(call: Call, needs: MethodNeeds): Promise<Reply> {
  const server = serverOf(call);
  const { serverInfo } = await startFor(call, server);
  if (keepsSessions(serverInfo)) {
    const { answer } = serverInfo;
    const said = discovered(valueOf(answer.bytes, answer.payload));
    const result = completeResult(
      { supportedVersions: modernVersions, ...said },
      { ttlMs: 0, cacheScope: 'private' },
    );
    return hubReply(withoutHeldInstructions(encodeResult(call.id, result), server));
  }
  // The server gives all clients the same result, so the hub's own handshake suffices. A client needs its own
  // instance only for its first call.
  return await admit(server, call, waitedMs =>
    needs.bridge({
      ...callTo(server, call),
      restored: bytes => withoutHeldInstructions(withVersions(bytes), server),
      waitedMs,
    }),
  );
}

export const discoverOne: Method = (call, needs) =>
  ownCall(call, () => answerDiscover(call, needs), serverOf(call));

/** Replaces the supported versions in a server's answer with those of the hub. */
function withVersions(bytes: Buffer): Buffer {
  const answer = readAnswer(bytes);
  const members = membersOf(bytes, answer.payload);
  if (answer.failed || !members) return bytes;
  const versions = { supportedVersions: JSON.stringify(modernVersions) };
  return splice(bytes, setMembers(answer.payload, members, versions));
}

/** Stores the log level in the session. Servers get the most verbose level of all sessions. */
export const setLevel = own(({ request, id, params, session }, needs) => {
  const level = valueOf(request.bytes, params.get('level'));
  if (!isLogLevel(level))
    throw invalidRequest(
      `"params.level" is ${JSON.stringify(level)}; it must be one of ${logLevels.join(', ')}`,
    );
  session.logLevel = level;
  needs.logLevelChanged();
  return encodeResult(id, '{}');
});
