import { HubError, kindOf, messageOf } from '#core';

/** Codes of what is away for a while: the engine, a registry, or the host of a remote server. */
export type AwayCode =
  'HUB_ENGINE_UNREACHABLE' | 'HUB_REGISTRY_UNREACHABLE' | 'HUB_REMOTE_UNREACHABLE';

/**
 * The code of what is away where that is why the server is not there, which is nothing that it did.
 * A host that answered with a status is not away: it refuses the hub.
 */
export function awayCodeOf(error: unknown): AwayCode | undefined {
  if (!(error instanceof HubError)) return undefined;
  switch (error.code) {
    case 'HUB_ENGINE_UNREACHABLE':
    case 'HUB_REGISTRY_UNREACHABLE':
      return error.code;
    case 'HUB_REMOTE_UNREACHABLE':
      return error.data['status'] === undefined ? error.code : undefined;
    case 'HUB_SERVER_DOWN':
      return awayCodeOf(error.cause);
    default:
      return undefined;
  }
}

/** The message of a cause, for a sentence that has named the server already. */
export function withoutName(server: string, message: string): string {
  const gone = `${server} is gone: `;
  if (message.startsWith(gone)) return withoutName(server, message.slice(gone.length));
  if (message.startsWith(`${server}: `)) return message.slice(server.length + 2);
  if (message.startsWith(`${server} at `)) return `the server${message.slice(server.length)}`;
  return message.startsWith(`${server} `) ? `it ${message.slice(server.length + 1)}` : message;
}

/** A server went away. `how` says in which way, and `cause` is the error that ended its channel. */
export function goneError(server: string, how: string, stderr: string, cause: unknown): HubError {
  const said = stderr ? `. It wrote: ${stderr.slice(stderr.lastIndexOf('\n') + 1)}` : '';
  return new HubError('HUB_SERVER_DOWN', `${server} is gone: ${withoutName(server, how)}${said}`, {
    cause,
    data: { server, retryable: true, ...(stderr && { stderr }) },
  });
}

/** What a caller reads when a server does not come up: with the end of its stderr. */
export function startFailure(server: string, error: unknown, stderr: string): unknown {
  if (error instanceof HubError) {
    const { code, cause } = error;
    // What is away says so better than the end of the channel to it.
    if (code === 'HUB_SERVER_DOWN' && awayCodeOf(cause)) return cause;
    const isBare = code === 'HUB_SERVER_DOWN' || code === 'HUB_SERVER_START_FAILED';
    if (!isBare && kindOf(error) !== 'timeout') return error;
  }
  return new HubError(
    'HUB_SERVER_START_FAILED',
    `${server} did not start: ${withoutName(server, messageOf(error))}`,
    { cause: error, data: { server, ...(stderr && { stderr }) } },
  );
}
