import { HubError, isObject } from '#core';
import { type Answer, valueOf } from '#jsonrpc';

/** The server did not answer a call within its `timeout`, in milliseconds, and reported no progress. */
export const timedOut = (server: string, method: string, timeoutMs: number): HubError =>
  new HubError(
    'HUB_CALL_TIMEOUT',
    `${server} did not answer ${method} within ${timeoutMs / 1000} s. Raise "timeout" of this server if it needs longer`,
    { data: { server, method, timeoutMs } },
  );

/** The call was cancelled before its answer arrived. */
export const cancelled = (server: string, method: string, reason: string | undefined): HubError =>
  new HubError(
    'HUB_CALL_CANCELLED',
    `${method} was cancelled${reason === undefined ? '' : `: ${reason}`}`,
    { data: { server } },
  );

export const tooLong = (server: string, bytes: number): HubError =>
  new HubError(
    'HUB_LINE_TOO_LONG',
    `${server} answered with ${bytes} bytes, which is above its "max_line"; the answer was discarded. Ask for less, or raise "max_line" of this server`,
    { data: { server, bytes } },
  );

/**
 * The server answered one of the hub's own requests with an error, which `data.error` holds. The code is
 * HUB_REMOTE_UNREACHABLE if the remote host answered with only an HTTP status and the channel supplied the error.
 */
export function refusedBy(server: string, method: string, { bytes, payload }: Answer): HubError {
  const error = valueOf(bytes, payload);
  const why = isObject(error) ? String(error['message']) : 'no reason given';
  const told = isObject(error) && isObject(error['data']) ? error['data'] : {};
  if (told['code'] === 'HUB_LOGIN_REQUIRED')
    return new HubError('HUB_LOGIN_REQUIRED', why, { data: { ...told, server, retryable: false } });
  if (told['code'] === 'HUB_REMOTE_UNREACHABLE') {
    const { status, retryable } = told;
    const isRetryable = retryable === true;
    return new HubError('HUB_REMOTE_UNREACHABLE', why, {
      data: { server, method, status, retryable: isRetryable, error },
    });
  }
  // The channel's own errors for undeliverable requests already start with the server's name.
  const message = why.startsWith(`${server} `) ? why : `${server} refused ${method}: ${why}`;
  return new HubError('HUB_SERVER_PROTOCOL', message, { data: { server, method, error } });
}
