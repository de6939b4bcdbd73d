import type { ServerConfig } from '#config';
import { type Clock, HubError, isObject } from '#core';
import { rpcCodes } from '#jsonrpc';
import { type Era, modernVersion } from '#mcp';
import type { Upstream } from '#upstream';
import { eraToldBy } from './eras.ts';
import { awayCodeOf, withoutName } from '../failures.ts';
import { type HandshakeOptions, type ServerInfo, handshake } from './handshake.ts';

/** Time before the timeout at which a silent server is tried in the other era, in ms. */
const otherEraMs = 2_000;

/**
 * Performs the handshake in the era that the entry names. Shortly before the timeout, a silent server is tried in
 * the other era as well; if it answers there, rejects with an error of which `isOfOtherEra` is true.
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
      () => undefined, // It is silent in both eras: the handshake in its own era says so.
    );
  });
  return await Promise.race([handshake(era, options, upstream), mistaken]);
}

/** Error codes by which a server refuses `initialize` as unknown. */
const { methodNotFound, invalidRequest, invalidParams } = rpcCodes;
const unknownCodes: readonly unknown[] = [methodNotFound, invalidRequest, invalidParams];

/** HTTP statuses that concern authorization or load, not the era. */
const otherStatuses: readonly unknown[] = [401, 403, 408, 429];

/** Whether a server refused the handshake as one of the other era does. */
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

/** The error for an entry that names an era the server does not speak. Not retryable. */
export function misconfigured({ name, era }: ServerConfig, cause: HubError): HubError {
  return new HubError(
    'HUB_SERVER_PROTOCOL',
    `${name} does not speak ${versionsOf(era)}, which "era": "${era}" in its entry asks for: ${withoutName(name, cause.message)}. Set "era" to "auto"`,
    { cause, data: { ...cause.data, retryable: false } },
  );
}

/** Adds a hint at the era of the entry to the error of a server that never answered. */
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
