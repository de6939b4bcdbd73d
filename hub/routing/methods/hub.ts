import { HubError, isObject } from '#core';
import {
  encodeResult,
  isKnownVersion,
  isLogLevel,
  latestVersion,
  membersOf,
  logLevels,
  rawText,
  splice,
  stringAt,
  valueOf,
} from '#rpc';
import { hubInfo } from '#servers';
import { paramsOf } from '../relay.ts';
import type { Method } from '../method.ts';
import type { SessionState } from '../session.ts';

/** The id of a request as JSON text, for its answer. */
const idOf = (request: Parameters<Method>[0]) => rawText(request.bytes, request.id);

export const ping: Method = request => encodeResult(idOf(request), '{}');

/**
 * The revision to agree on: the client's, where the hub knows it, else the newest (MCP, lifecycle).
 * It is the session's own only once the answer is certain.
 */
function negotiate(request: Parameters<Method>[0], session: SessionState): string {
  if (session.protocolVersion !== undefined)
    throw new HubError('HUB_REQUEST_INVALID', 'the session is initialized already');
  const asked = stringAt(request.bytes, paramsOf(request).get('protocolVersion'));
  if (asked === undefined)
    throw new HubError('HUB_REQUEST_INVALID', '"params.protocolVersion" must be a string');
  return isKnownVersion(asked) ? asked : latestVersion;
}

/** The hub introduces itself as one server that has what all its servers have. */
export const initializeAll: Method = (request, session, _exchange, needs) => {
  const protocolVersion = negotiate(request, session);
  session.protocolVersion = protocolVersion;
  return encodeResult(
    idOf(request),
    JSON.stringify({
      protocolVersion,
      capabilities: {
        completions: {},
        logging: {},
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        tools: { listChanged: true },
      },
      serverInfo: { ...hubInfo, version: needs.hubVersion },
    }),
  );
};

/** The server's own introduction, with nothing changed but the revision agreed on with this client. */
export const initializeOne: Method = async (request, session) => {
  const protocolVersion = negotiate(request, session);
  if (session.view === 'all') throw new TypeError('a view of one server was expected');
  const { answer } = (session.view.running ?? (await session.view.ready())).introduction;
  session.protocolVersion = protocolVersion;
  const span = membersOf(answer.bytes, answer.payload)?.get('protocolVersion');
  const edits = span ? [{ span, text: JSON.stringify(protocolVersion) }] : [];
  const id = answer.id ? [{ span: answer.id, text: idOf(request) }] : [];
  return splice(answer.bytes, [...id, ...edits]);
};

/** The level is kept by session; servers are asked for the most talkative of all. */
export const setLevel: Method = (request, session, _exchange, needs) => {
  const level = valueOf(request.bytes, paramsOf(request).get('level'));
  if (!isLogLevel(level))
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `"params.level" is ${JSON.stringify(level)}; it must be one of ${logLevels.join(', ')}`,
    );
  session.logLevel = level;
  needs.logLevelChanged();
  return encodeResult(idOf(request), '{}');
};

/** What a session may be told of a log message of this level. */
export function wantsLevel(session: SessionState, params: unknown): boolean {
  if (session.logLevel === undefined || !isObject(params)) return true;
  const { level } = params;
  return !isLogLevel(level) || logLevels.indexOf(level) >= logLevels.indexOf(session.logLevel);
}
