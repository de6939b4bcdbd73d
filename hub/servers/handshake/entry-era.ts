import type { ServerConfig } from '#config';
import { type Clock, HubError, isObject } from '#core';
import { rpcCodes } from '#jsonrpc';
import { type Era, modernVersion } from '#mcp';
import type { Upstream } from '#upstream';
import { eraToldBy } from './eras.ts';
import { awayCodeOf, withoutName } from '../failures.ts';
import { type HandshakeOptions, type ServerInfo, handshake } from './handshake.ts';

/** A silent server is tried in the other era this long before the timeout, in ms. */
const otherEraMs = 2_000;

/**
 * Performs the handshake in the era that the config entry names. Shortly before the timeout, a silent server is tried
 * in the other era as well; if it answers there, rejects with an error for which `isOfOtherEra` is true.
 */
export async function handshakeAs(
  era: Era,
  options: HandshakeOptions,
  upstream: Pick<Upstream, 'request' | 'listen' | 'notify'>,
  { clock }: { readonly clock: Pick<Clock, 'after'> },
): Promise<ServerInfo> {
  const { server, timeoutMs } = options;
  const method = era === 'modern' ? 'server/discover' : 'initialize';
  const askedMs = Math.min(otherEraMs, timeoutMs / 2);
  const { promise: mistaken, reject } = Promise.withResolvers<never>();
  const answered = new HubError('HUB_SERVER_PROTOCOL', `${server} answered nothing to ${method}`, {
    data: { server, method, error: { code: methodNotFound } },
  });
  using _silence = clock.after(timeoutMs - askedMs, () => {
    const other = era === 'modern' ? 'legacy' : 'modern';
    handshake(other, { ...options, timeoutMs: askedMs }, upstream).then(
      () => reject(answered),
      () => undefined, // Silent in both eras: the handshake in the entry's era reports it.
    );
  });
  return await Promise.race([handshake(era, options, upstream), mistaken]);
}

/** JSON-RPC error codes of servers that do not know `initialize`. */
const { methodNotFound, invalidRequest, invalidParams } = rpcCodes;
const unknownCodes: readonly unknown[] = [methodNotFound, invalidRequest, invalidParams];

/** HTTP statuses that concern authorization or load, not the era. */
const otherStatuses: readonly unknown[] = [401, 403, 408, 429];

/** True if a server refused the handshake because it speaks the other era. */
export function isOfOtherEra(error: unknown): error is HubError {
  if (!(error instanceof HubError)) return false;
  const { method, status, error: refusal } = error.data;
  if (error.code === 'HUB_REMOTE_UNREACHABLE')
    return (
      method === 'server/discover' &&
      typeof status === 'number' &&
      status < 500 &&
      !otherStatuses.includes(status)
    );
  if (error.code !== 'HUB_SERVER_PROTOCOL') return false;
  if (method === 'server/discover') return true;
  const isUnknown = isObject(refusal) && unknownCodes.includes(refusal['code']);
  return method === 'initialize' && (isUnknown || eraToldBy(error) === 'modern');
}

const versionsOf = (era: ServerConfig['era']) =>
  era === 'modern' ? `MCP ${modernVersion}` : 'MCP up to 2025-11-25';

/** Creates the error for a config entry that names an era which the server does not speak. Not retryable. */
export function misconfigured({ name, era }: ServerConfig, cause: HubError): HubError {
  return new HubError(
    'HUB_SERVER_PROTOCOL',
    `${name} does not speak ${versionsOf(era)}, which "era": "${era}" in its entry asks for: ${withoutName(name, cause.message)}. Set "era" to "auto"`,
    { cause, data: { ...cause.data, retryable: false } },
  );
}

/** Adds a hint at the entry's "era" to the error of a server that never answered. */
export function unheard({ name, era, startTimeoutMs }: ServerConfig, error: unknown): unknown {
  if (!(error instanceof HubError) || awayCodeOf(error)) return error;
  const hint = `set "era" to "auto" if it does not speak ${versionsOf(era)}, which "era": "${era}" in its entry asks for`;
  const { code, cause, data, message } = error;
  if (code === 'HUB_SERVER_DOWN') return new HubError(code, `${message}; ${hint}`, { cause, data });
  if (code !== 'HUB_CALL_TIMEOUT' && code !== 'HUB_SERVER_START_FAILED') return error;
  const method = era === 'modern' ? 'server/discover' : 'initialize';
  return new HubError(
    'HUB_SERVER_START_FAILED',
    `it did not answer ${method} within ${startTimeoutMs / 1000} s. Raise "start_timeout" if it needs longer, or ${hint}`,
    { cause: error, data: { server: name } },
  );
}
