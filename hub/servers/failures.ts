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

/**
 * True where the same start would fail again until the operator has changed something, which none of the
 * restarts would wait for. A host may answer 404 while its server is replaced.
 */
export function isLasting(error: unknown): boolean {
  const kind = kindOf(error);
  if (kind === 'invalid' || kind === 'conflict') return true;
  if (!(error instanceof HubError)) return false;
  return error.data.retryable === false && error.data['status'] !== 404;
}

/** What a server wrote to stderr before it ended. */
export type LastWords = {
  /** What of it may say why, as a sentence; empty where nothing does. */
  readonly quoted: string;
  readonly stderr: string;
};

/** A server went away. `how` says in which way, and `cause` is the error that ended its channel. */
export function goneError(
  server: string,
  how: string,
  { quoted, stderr }: LastWords,
  cause: unknown,
): HubError {
  const said = quoted && `. ${quoted}`;
  return new HubError('HUB_SERVER_DOWN', `${server} is gone: ${withoutName(server, how)}${said}`, {
    cause,
    data: { server, retryable: true, ...(stderr && { stderr }) },
  });
}

/** Why a server ends that the hub itself has ended, which is nothing that it did. */
class Intended extends Error {}

/** A server went away because that is wanted. `how` says in which way. */
export const haltedError = (server: string, how: string): HubError =>
  goneError(server, how, { quoted: '', stderr: '' }, new Intended(how));

/** Whether the hub itself has ended the server. */
export const isHalted = (error: HubError): boolean => error.cause instanceof Intended;

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
