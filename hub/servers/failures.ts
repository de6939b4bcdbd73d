import { HubError, kindOf, messageOf } from '#core';
import { adviceOn, findMissing } from './missing-programs.ts';
import type { lastWordsOf } from './lifecycle/stderr-ring.ts';

/** Codes of temporary outages: of the engine, a registry, or the host of a remote server. */
export type AwayCode =
  | 'HUB_ENGINE_UNREACHABLE'
  | 'HUB_REGISTRY_UNREACHABLE'
  | 'HUB_REMOTE_UNREACHABLE';

/** The code of the outage that an error is due to, if any. A host that answered with a status is not out. */
export function awayCodeOf(error: unknown): AwayCode | undefined {
  if (!(error instanceof HubError)) return undefined;
  const { code, cause, data } = error;
  if (code === 'HUB_SERVER_DOWN') return awayCodeOf(cause);
  if (code === 'HUB_REMOTE_UNREACHABLE') return data['status'] === undefined ? code : undefined;
  return code === 'HUB_ENGINE_UNREACHABLE' || code === 'HUB_REGISTRY_UNREACHABLE'
    ? code
    : undefined;
}

/** The error that says that a server wants a login, if an error is due to that. */
export function loginErrorOf(error: unknown): HubError | undefined {
  if (!(error instanceof HubError)) return undefined;
  return error.code === 'HUB_LOGIN_REQUIRED' ? error : loginErrorOf(error.cause);
}

/** The message of a cause, for a sentence that already names the server. */
export function withoutName(server: string, message: string): string {
  const gone = `${server} is gone: `;
  if (message.startsWith(gone)) return withoutName(server, message.slice(gone.length));
  if (message.startsWith(`${server}: `)) return message.slice(server.length + 2);
  if (message.startsWith(`${server} at `)) return `the server${message.slice(server.length)}`;
  return message.startsWith(`${server} `) ? `it ${message.slice(server.length + 1)}` : message;
}

/** Whether a start fails until the operator acts. Not for a 404: a host may answer it while its server is replaced. */
export function isLasting(error: unknown): boolean {
  const kind = kindOf(error);
  if (kind === 'invalid' || kind === 'conflict') return true;
  if (!(error instanceof HubError)) return false;
  return error.data.retryable === false && error.data['status'] !== 404;
}

/** The error of a server that ended. `how` is the reason, `cause` the error of its channel. */
export function goneError(
  server: string,
  how: string,
  { quoted, stderr }: Pick<ReturnType<typeof lastWordsOf>, 'quoted' | 'stderr'>,
  cause: unknown,
): HubError {
  const said = quoted && `. ${quoted}`;
  return new HubError('HUB_SERVER_DOWN', `${server} is gone: ${withoutName(server, how)}${said}`, {
    cause,
    data: { server, retryable: true, ...(stderr && { stderr }) },
  });
}

/** The cause of errors for servers that the hub has stopped. */
class Intended extends Error {}

/** The error of a server that the hub has stopped. `how` is the reason. */
export const haltedError = (server: string, how: string): HubError =>
  goneError(server, how, { quoted: '', stderr: '' }, new Intended(how));

export const isHalted = (error: HubError): boolean => error.cause instanceof Intended;

/** Precedes text of stdout that is not MCP among the lines of stderr. */
export const strayMark = 'stdout: ';
const maxStrayCharacters = 200;

/** What the server wrote to stdout first that is not MCP, unless `why` quotes it. */
function strayIn(stderr: string, why: string): string {
  const line = stderr.split('\n').find(text => text.startsWith(strayMark));
  const stray = line?.slice(strayMark.length).trim().slice(0, maxStrayCharacters) ?? '';
  if (stray === '' || why.includes(stray)) return '';
  return `. Its stdout must contain only MCP messages, but it wrote: ${stray}`;
}

/** The error of a failed start, with the end of the server's stderr. */
export function startFailure(server: string, error: unknown, stderr: string): unknown {
  const login = loginErrorOf(error);
  if (login) return login;
  if (error instanceof HubError) {
    const { code, cause } = error;
    // The outage explains more than the closed channel.
    if (code === 'HUB_SERVER_DOWN' && awayCodeOf(cause)) return cause;
    const isBare = code === 'HUB_SERVER_DOWN' || code === 'HUB_SERVER_START_FAILED';
    if (!isBare && kindOf(error) !== 'timeout') return error;
  }
  const missing = findMissing(`${stderr}\n${messageOf(error)}`);
  const advice = missing ? `. ${adviceOn(missing)}` : '';
  const systemPackage = missing?.systemPackage;
  const why = withoutName(server, messageOf(error));
  return new HubError(
    'HUB_SERVER_START_FAILED',
    `${server} did not start: ${why}${strayIn(stderr, why)}${advice}`,
    {
      cause: error,
      data: {
        server,
        ...(stderr && { stderr }),
        ...(systemPackage !== undefined && { system_packages: [systemPackage] }),
      },
    },
  );
}
