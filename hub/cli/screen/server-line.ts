import type { Server } from '#servers';
import { count } from '../values.ts';

/** Kind of a server's state, which decides its sign and colour. */
export type ServerMark = 'ok' | 'busy' | 'problem' | 'quiet';

export type ShownServer = {
  readonly name: string;
  readonly mark: ServerMark;
  readonly state: string;
  readonly detail: string;
  /** Command that shows more about the server. */
  readonly more?: string;
};

/** Members of a server that the screen uses. */
export type WatchedServer = Pick<
  Server,
  'config' | 'status' | 'listing' | 'lastError' | 'restarts' | 'changed' | 'listed'
>;

/** Describes one server in words. `now` is in ms since the epoch; `phase` is the current phase of its start. Pure. */
export function describeForScreen(
  server: WatchedServer,
  now: number,
  phase: string | undefined,
): ShownServer {
  const { config, status, listing, restarts } = server;
  const { name } = config;
  const quiet = (state: string, detail: string) =>
    ({ name, mark: 'quiet', state, detail }) as const;
  const problem = (state: string, detail: string, command?: string): ShownServer => ({
    name,
    mark: 'problem',
    state,
    detail,
    ...(command !== undefined && { more: `npx agenthub ${command} ${name}` }),
  });
  if (!config.enabled)
    return config.heldBack === undefined ? quiet('off', '') : problem('held', config.heldBack);
  switch (status.state) {
    case 'starting': {
      const detail = startDetail(status.progress, now - status.since);
      return { name, mark: 'busy', state: phase ?? 'starting', detail };
    }
    case 'running': {
      const again = restarts > 0 ? `, restarted ${count(restarts, 'time')}` : '';
      const detail = `${count(listing.tool.length, 'tool')}${again}`;
      return { name, mark: 'ok', state: 'running', detail };
    }
    case 'stopped':
      return status.byHand
        ? quiet('stopped', `npx agenthub start ${name}`)
        : quiet('on demand', 'starts with its first call');
    case 'stopping':
      return { name, mark: 'busy', state: 'stopping', detail: '' };
    case 'backing_off':
      return problem('restarting', reasonOf(server, status.why));
    case 'needs_login':
      return problem('login', 'waits for you to log in', 'login');
    case 'failed':
      return problem('failed', reasonOf(server, status.why), 'logs');
    case 'unreachable':
      return problem('unreachable', reasonOf(server, status.why));
  }
}

/**
 * Returns the phase of a start by the first word of its progress; undefined for other output, such as that of a build.
 */
export const phaseIn = (progress: string): string | undefined =>
  /^(?:waiting|pulling|building|starting)\b/.exec(progress)?.[0];

/** Formats a duration in whole seconds, with minutes from 60 s on: `1 min 5 s`. */
export function secondsText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function startDetail(progress: string, elapsedMs: number): string {
  const elapsed = secondsText(elapsedMs);
  return progress === 'launching' ? elapsed : `${elapsed}  ${progress}`;
}

/**
 * Returns the line of output that reports the error, or else the first line of the reason, without the server's name.
 */
function reasonOf({ config: { name }, lastError }: WatchedServer, why: string): string {
  if (lastError?.line !== undefined) return lastError.line;
  const [first = ''] = why.split('\n', 1);
  return first.startsWith(`${name} `) ? first.slice(name.length + 1) : first;
}
