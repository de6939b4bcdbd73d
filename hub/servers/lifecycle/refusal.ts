import type { ServerConfig } from '#config';
import { HubError } from '#core';
import { withoutName } from '../failures.ts';
import type { ServerStatus } from '../server-types.ts';

/** The refusal of a call in this state; undefined if the server runs or may be started. `now` is monotonic. Pure. */
export function refusalOf(
  config: Pick<ServerConfig, 'name' | 'enabled' | 'heldBack'>,
  status: ServerStatus,
  stderr: string,
  now: number,
): HubError | undefined {
  const { name } = config;
  const said = stderr ? { stderr } : {};
  const later = (due: number) => ({
    server: name,
    retryable: true,
    retryAfterMs: Math.max(0, Math.ceil(due - now)),
  });
  if (!config.enabled)
    return new HubError(
      'HUB_SERVER_DISABLED',
      config.heldBack === undefined
        ? `${name} is disabled in the config`
        : `${name} waits for a person: ${config.heldBack}`,
      {
        data: { server: name },
      },
    );
  switch (status.state) {
    case 'stopped':
      return status.byHand
        ? new HubError(
            'HUB_SERVER_STOPPED',
            `${name} was stopped by hand. Start it with POST /servers/${name}/start`,
            { data: { server: name } },
          )
        : undefined;
    case 'stopping':
      return new HubError('HUB_SERVER_STOPPED', `${name} is stopping`, {
        data: { server: name, retryable: true },
      });
    case 'failed':
      return new HubError(
        'HUB_SERVER_FAILED',
        `${name} has failed: ${withoutName(name, status.why)}. Start it again with POST /servers/${name}/restart`,
        { data: { server: name, retryable: false, ...said } },
      );
    case 'backing_off':
      return new HubError(
        'HUB_SERVER_DOWN',
        `${name} is restarting: ${withoutName(name, status.why)}`,
        { data: { ...later(status.due), ...said } },
      );
    case 'unreachable': {
      const { code, why, due } = status;
      const message = why.startsWith(`${name} `) ? why : `${name} is out of reach: ${why}`;
      return new HubError(code, message, { data: later(due) });
    }
    case 'starting':
    case 'running':
      return undefined;
  }
}

/** The refusal of calls to a server that is closed for good. Pure. */
export const closedFor = (name: string, why: 'stopping' | 'removed'): HubError =>
  why === 'removed'
    ? new HubError('HUB_SERVER_UNKNOWN', `${name} was removed from the config`, {
        data: { server: name },
      })
    : new HubError('HUB_SHUTTING_DOWN', `${name} is not started: the hub is stopping`, {
        data: { server: name, retryable: true },
      });
