import { isObject, messageOf } from '#core';
import { VectorsFailure, type VectorsFailureKind } from '../vectors.ts';

/** Maximum length of a Qdrant message in a failure, in characters. */
const maxReason = 300;
/** Statuses that Qdrant or a proxy may send without a reason in Qdrant's format. */
const bareStatuses = [401, 403, 429, 502, 503, 504, 507];
const grpcPort = '6334';
const httpPort = 'Set QDRANT_URL to the port of Qdrant for HTTP, 6333 by default; 6334 is for gRPC';

/** Messages of Qdrant 1.19 about limits of a collection's strict mode, and the setting of each limit. */
const strictMode: readonly (readonly [RegExp, string])[] = [
  [/^Bad request: (?:Exact search disabled|Request is forbidden)/, 'search_allow_exact'],
  [/for "limit"/, 'max_query_limit'],
  [/points count limit of .* reached/, 'max_points_count'],
  [/vector storage size limit of .* reached/, 'max_collection_vector_size_bytes'],
  [/payload storage size limit of .* reached/, 'max_collection_payload_size_bytes'],
  [/maximum number of payload indices/, 'max_payload_index_count'],
  [/Filter condition limit reached/, 'filter_max_conditions'],
  [/Read rate limit/, 'read_rate_limit'],
  [/Write rate limit/, 'write_rate_limit'],
];

/** Converts an error of the Qdrant client to a VectorsFailure. Its message has the reason, so no `cause` is set. */
export function failureOf(error: unknown, { host, port }: URL): VectorsFailure {
  if (error instanceof VectorsFailure) return error;
  const status = statusOf(error);
  // For a 429 with Retry-After, the client throws an error of another class.
  if (error instanceof Error && error.name === 'QdrantClientResourceExhaustedError')
    return new VectorsFailure('full', `${host}: 429: too many requests`);
  if (status === undefined) {
    if (!(error instanceof TypeError) || isOtherProtocol(error.cause)) return notQdrant(host);
    const hint = port === grpcPort ? `. ${httpPort}` : '';
    return new VectorsFailure('unreachable', `${host}: ${messageOf(error)}${hint}`);
  }
  const said = reasonIn(error);
  if (said === undefined && !bareStatuses.includes(status)) return notQdrant(host);
  const reason = said ?? 'no reason is given';
  return new VectorsFailure(
    kindOf(status, reason),
    `${host}: ${status}: ${reason.slice(0, maxReason)}${remedyOf(status, reason)}`,
    said === undefined ? undefined : status,
  );
}

export const notQdrant = (host: string): VectorsFailure =>
  new VectorsFailure('malformed', `${host} answers, but not as Qdrant does. ${httpPort}`);

/** Resolves with undefined if Qdrant refuses with this status, such as 404 (does not exist) or 409 (exists). */
export async function unless<T>(status: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof VectorsFailure && error.status === status) return undefined;
    throw error;
  }
}

function kindOf(status: number, reason: string): VectorsFailureKind {
  // Qdrant 1.19 answers 500 if the disk is full, and 400 if a limit of strict mode is reached.
  if ([429, 507].includes(status) || /no space left|limit of .* reached/i.test(reason))
    return 'full';
  if ([502, 503, 504].includes(status)) return 'unreachable';
  return status === 400 && /dimension/i.test(reason) ? 'dimension' : 'refused';
}

function remedyOf(status: number, reason: string): string {
  if (status === 401 || status === 403) return '. Set QDRANT_API_KEY to a key that may write';
  const [, setting] = strictMode.find(([words]) => words.test(reason)) ?? [];
  return setting === undefined
    ? ''
    : `. Change ${setting} in the strict_mode_config of the collection`;
}

const isOtherProtocol = (cause: unknown): boolean =>
  cause instanceof Error && cause.name === 'HTTPParserError';

/** Returns the HTTP status of an error of the Qdrant client; undefined for other errors. */
export function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

/**
 * Returns the reason in an error of Qdrant: `{"status": {"error": "..."}}`. Undefined for a plain text response, as for
 * a missing API key.
 */
function reasonIn(error: unknown): string | undefined {
  const data = error instanceof Error && 'data' in error ? error.data : undefined;
  const status = isObject(data) ? data['status'] : undefined;
  const reason = isObject(status) ? status['error'] : undefined;
  return typeof reason === 'string' ? reason : undefined;
}
