import { HubError, isObject } from '#core';
import { type Answer, valueOf } from '#jsonrpc';

/** A server took longer over a call than its `timeout`, in milliseconds, without any progress. */
export const timedOut = (server: string, method: string, timeoutMs: number): HubError =>
  new HubError(
    'HUB_CALL_TIMEOUT',
    `${server} did not answer ${method} within ${timeoutMs / 1000} s. Raise "timeout" of this server if it needs longer`,
    { data: { server, method, timeoutMs } },
  );

/** Nobody waits for the answer any more. */
export const cancelled = (server: string, method: string, reason: string | undefined): HubError =>
  new HubError(
    'HUB_CALL_CANCELLED',
    `${method} was cancelled${reason === undefined ? '' : `: ${reason}`}`,
    { data: { server } },
  );

/** An answer was longer than the server's `max_line`. */
export const tooLong = (server: string, bytes: number): HubError =>
  new HubError(
    'HUB_LINE_TOO_LONG',
    `${server} answered with ${bytes} bytes, which is above its "max_line"; the answer was discarded`,
    { data: { server, bytes } },
  );

/**
 * The server answered a request of the hub's own with an error, which is in the data. What the channel
 * answers in its place, where its host answered with no more than a status, is HUB_REMOTE_UNREACHABLE.
 */
export function refusedBy(server: string, method: string, { bytes, payload }: Answer): HubError {
  const error = valueOf(bytes, payload);
  const why = isObject(error) ? String(error['message']) : 'no reason given';
  const told = isObject(error) && isObject(error['data']) ? error['data'] : {};
  if (told['code'] === 'HUB_REMOTE_UNREACHABLE') {
    const { status, retryable } = told;
    const isRetryable = retryable === true;
    return new HubError('HUB_REMOTE_UNREACHABLE', why, {
      data: { server, method, status, retryable: isRetryable, error },
    });
  }
  // Of a remote server the channel answers what could not be delivered, and names it already.
  const message = why.startsWith(`${server} `) ? why : `${server} refused ${method}: ${why}`;
  return new HubError('HUB_SERVER_PROTOCOL', message, { data: { server, method, error } });
}
