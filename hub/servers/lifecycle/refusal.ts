import type { ServerConfig } from '#config';
import { type Code, type ErrorData, HubError } from '#core';
import { withoutName } from '../failures.ts';
import type { ServerStatus } from '../server-types.ts';

const refusal = (server: string, code: Code, message: string, data: ErrorData = {}) =>
  new HubError(code, message, { data: { server, ...data } });

/**
 * Returns the error for calls in this state; undefined if the server runs or may be started. `now` is monotonic, in ms.
 * Pure.
 */
export function refusalOf(
  {
    name,
    enabled,
    heldBack,
    isManual,
  }: Pick<ServerConfig, 'name' | 'enabled' | 'heldBack' | 'isManual'>,
  status: ServerStatus,
  stderr: string,
  now: number,
): HubError | undefined {
  const said = stderr ? { stderr } : {};
  const later = (due: number) => ({
    retryable: true,
    retryAfterMs: Math.max(0, Math.ceil(due - now)),
  });
  if (!enabled)
    return refusal(
      name,
      'HUB_SERVER_DISABLED',
      heldBack === undefined
        ? `${name} is disabled in the config. Remove "disabled": true or "enabled": false from its entry to use it`
        : `${name} waits for a person: ${heldBack}`,
    );
  switch (status.state) {
    case 'stopped':
    case 'stopping':
      if (status.byHand)
        return refusal(
          name,
          'HUB_SERVER_STOPPED',
          `${name} ${isManual ? 'is started by hand only' : 'was stopped by hand'}. Start it with "agenthub start ${name}"`,
        );
      return status.state === 'stopping'
        ? refusal(name, 'HUB_SERVER_STOPPED', `${name} is stopping`, { retryable: true })
        : undefined;
    case 'failed':
      return refusal(
        name,
        'HUB_SERVER_FAILED',
        `${name} has failed: ${withoutName(name, status.why)}. Start it again with "agenthub restart ${name}"`,
        { retryable: false, ...said },
      );
    case 'needs_login':
      return refusal(name, 'HUB_LOGIN_REQUIRED', status.why, { retryable: false });
    case 'backing_off': {
      const message = `${name} is restarting: ${withoutName(name, status.why)}`;
      return refusal(name, 'HUB_SERVER_DOWN', message, { ...later(status.due), ...said });
    }
    case 'unreachable': {
      const { code, why, due } = status;
      const message = why.startsWith(`${name} `) ? why : `${name} is out of reach: ${why}`;
      return refusal(name, code, message, later(due));
    }
    case 'starting':
    case 'running':
      return undefined;
  }
}

/** Returns the error for calls to a server that was removed, or whose hub is stopping. Pure. */
export function closedFor(name: string, why: 'stopping' | 'removed'): HubError {
  if (why === 'removed')
    return refusal(name, 'HUB_SERVER_UNKNOWN', `${name} was removed from the config`);
  const message = `${name} is not started: the hub is stopping`;
  return refusal(name, 'HUB_SHUTTING_DOWN', message, { retryable: true });
}
