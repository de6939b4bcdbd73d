import type { ServerConfig } from '#config';
import { type Clock, HubError, isObject } from '#core';
import { rpcCodes } from '#jsonrpc';
import { type Era, modernVersion } from '#mcp';
import type { Upstream } from '#upstream';
import { eraToldBy } from './eras.ts';
import { awayCodeOf, withoutName } from '../failures.ts';
import { type Greeting, type Introduction, introduce } from './handshake.ts';

/** How long before the end of its time a silent server is asked in the other era as well. */
const otherEraMs = 2_000;

/**
 * Greets a server in the era that its entry names. One that is silent almost until its time is over is
 * asked in the other era as well: what answers there is not slow, and rejects as `isOfOtherEra` tells.
 */
export async function introduceAs(
  era: Era,
  greeting: Greeting,
  upstream: Pick<Upstream, 'request' | 'listen' | 'notify'>,
  { clock }: { readonly clock: Pick<Clock, 'after'> },
): Promise<Introduction> {
  const { server, timeoutMs } = greeting;
  const method = era === 'modern' ? 'server/discover' : 'initialize';
  const askedMs = Math.min(otherEraMs, timeoutMs / 2);
  const { promise: mistaken, reject } = Promise.withResolvers<never>();
  const other = { ...greeting, timeoutMs: askedMs };
  using _silence = clock.after(timeoutMs - askedMs, () => {
    introduce(era === 'modern' ? 'legacy' : 'modern', other, upstream).then(
      () =>
        reject(
          new HubError('HUB_SERVER_PROTOCOL', `${server} answered nothing to ${method}`, {
            data: { server, method, error: { code: rpcCodes.methodNotFound } },
          }),
        ),
      // It is silent in both eras: the handshake in its own era says so.
      () => undefined,
    );
  });
  return await Promise.race([introduce(era, greeting, upstream), mistaken]);
}

/** Refusals of `initialize` by which a server says that it knows no such thing. */
const unknownCodes: readonly unknown[] = [
  rpcCodes.methodNotFound,
  rpcCodes.invalidRequest,
  rpcCodes.invalidParams,
];

/** Statuses that are about who asks, or about now: they say nothing of the era. */
const otherStatuses: readonly unknown[] = [401, 403, 408, 429];

/** True where a server refused the greeting of its era as one of the other would. */
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

/** The entry names an era that the server does not speak: only a change of the entry helps. */
export function misconfigured({ name, era }: ServerConfig, cause: HubError): HubError {
  return new HubError(
    'HUB_SERVER_PROTOCOL',
    `${name} does not speak ${versionsOf(era)}, which "era": "${era}" in its entry asks for: ${withoutName(name, cause.message)}. Set "era" to "auto"`,
    { cause, data: { ...cause.data, retryable: false } },
  );
}

/** A server that was not heard before it was given up may be one that the era of its entry is wrong for. */
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
