import { type Code, HubError, kindOf, messageOf } from '#core';
import { adviceOn, findMissing } from './missing-programs.ts';
import type { lastWordsOf } from './lifecycle/stderr-ring.ts';

/** Codes of temporary outages: of the Docker engine, a registry, or the host of a remote server. */
export type AwayCode =
  | 'HUB_ENGINE_UNREACHABLE'
  | 'HUB_REGISTRY_UNREACHABLE'
  | 'HUB_REMOTE_UNREACHABLE';

/**
 * Returns the code of the outage that caused an error, if any. An HTTP response with an error status is not an outage.
 */
export function awayCodeOf(error: unknown): AwayCode | undefined {
  if (!(error instanceof HubError)) return undefined;
  const { code, cause, data } = error;
  if (code === 'HUB_SERVER_DOWN') return awayCodeOf(cause);
  if (code === 'HUB_REMOTE_UNREACHABLE') return data['status'] === undefined ? code : undefined;
  return code === 'HUB_ENGINE_UNREACHABLE' || code === 'HUB_REGISTRY_UNREACHABLE'
    ? code
    : undefined;
}

/** Returns the HUB_LOGIN_REQUIRED error in an error's chain of causes, if any. */
export function loginErrorOf(error: unknown): HubError | undefined {
  if (!(error instanceof HubError)) return undefined;
  return error.code === 'HUB_LOGIN_REQUIRED' ? error : loginErrorOf(error.cause);
}

/** Removes the server's name from the start of a message, for a sentence that already names the server. */
export function withoutName(server: string, message: string): string {
  const gone = `${server} is gone: `;
  if (message.startsWith(gone)) return withoutName(server, message.slice(gone.length));
  if (message.startsWith(`${server}: `)) return message.slice(server.length + 2);
  if (message.startsWith(`${server} at `)) return `the server${message.slice(server.length)}`;
  return message.startsWith(`${server} `) ? `it ${message.slice(server.length + 1)}` : message;
}

/**
 * True if a start keeps failing until the operator acts. Not for a 404: a host may answer it while its server is
 * replaced.
 */
export function isLasting(error: unknown): boolean {
  const kind = kindOf(error);
  if (kind === 'invalid' || kind === 'conflict') return true;
  if (!(error instanceof HubError)) return false;
  return error.data.retryable === false && error.data['status'] !== 404;
}

/** Creates the error of a server that ended. `how` is the reason, `cause` the error of its channel. */
export function goneError(
  server: string,
  how: string,
  { quoted, stderr }: Pick<ReturnType<typeof lastWordsOf>, 'quoted' | 'stderr'>,
  cause: unknown,
  retryable = true,
): HubError {
  const why = withoutName(server, how);
  const said = quoted && `. ${quoted}`;
  return new HubError(
    'HUB_SERVER_DOWN',
    `${server} is gone: ${why}${said}${memoryAdviceOn(why, stderr)}`,
    { cause, data: { server, retryable, ...(stderr && { stderr }) } },
  );
}

/** Matches a container that the kernel killed, and a Node that ended because its heap was full. */
const outOfMemory = /\bout of memory \(limit |JavaScript heap out of memory/;

/** Returns a sentence with advice if the server ran out of memory; empty otherwise, or if `why` has it already. */
function memoryAdviceOn(why: string, stderr = ''): string {
  const advice =
    'It needs more memory: add "resources": {"memory": "1g"} to its entry, or raise that';
  return outOfMemory.test(`${why}\n${stderr}`) && !why.includes(advice) ? `. ${advice}` : '';
}

/** The cause in errors of servers that the hub itself has stopped. */
class Intended extends Error {}

/** Codes of refusals that last until a person acts, unless they are retryable. */
const lastingRefusals: readonly Code[] = [
  'HUB_SERVER_DISABLED',
  'HUB_SERVER_FAILED',
  'HUB_SERVER_STOPPED',
  'HUB_SERVER_UNKNOWN',
];

/**
 * Creates the error of a server that the hub has stopped. `how` is the reason. `refusal`: the refusal of further calls,
 * whose message replaces the reason if a retry would be refused as well.
 */
export function haltedError(server: string, how: string, refusal?: HubError): HubError {
  const isFinal =
    refusal !== undefined &&
    lastingRefusals.includes(refusal.code) &&
    refusal.data.retryable !== true;
  const why = isFinal ? refusal.message : how;
  return goneError(server, why, { quoted: '', stderr: '' }, new Intended(why), !isFinal);
}

export const isHalted = (error: HubError): boolean => error.cause instanceof Intended;

/** Prefix, among the lines of stderr, of text that the server wrote to stdout and that is not MCP. */
export const strayMark = 'stdout: ';
const maxStrayCharacters = 200;

/** Returns a sentence with the first text on stdout that is not MCP; empty if there is none or `why` quotes it. */
function strayIn(stderr: string, why: string): string {
  const line = stderr.split('\n').find(text => text.startsWith(strayMark));
  const stray = line?.slice(strayMark.length).trim().slice(0, maxStrayCharacters) ?? '';
  if (stray === '' || why.includes(stray)) return '';
  return `. Its stdout must contain only MCP messages, but it wrote: ${stray}`;
}

/**
 * Creates the error of a failed start, with the end of the server's stderr. Returns errors that explain enough as they
 * are.
 */
export function startFailure(server: string, error: unknown, stderr: string): unknown {
  const login = loginErrorOf(error);
  if (login) return login;
  if (error instanceof HubError) {
    const { code, cause } = error;
    // The outage explains the failure better than the closed channel does.
    if (code === 'HUB_SERVER_DOWN' && awayCodeOf(cause)) return cause;
    const isBare = code === 'HUB_SERVER_DOWN' || code === 'HUB_SERVER_START_FAILED';
    if (!isBare && kindOf(error) !== 'timeout') return error;
  }
  const missing = findMissing(`${stderr}\n${messageOf(error)}`);
  const systemPackage = missing?.systemPackage;
  const why = withoutName(server, messageOf(error));
  const advice = missing ? `. ${adviceOn(missing)}` : memoryAdviceOn(why, stderr);
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
