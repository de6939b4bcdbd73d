import type { ServerConfig } from '#config';
import { type Clock, type Log, HubError, createEmitter, messageOf } from '#core';
import { goneError } from '../failures.ts';
import type { Running, Server, ServerNeeds, ServerStatus } from '../server-types.ts';
import { closedFor, refusalOf } from './refusal.ts';
import type { ServerFailure } from './restart-policy.ts';
import type { Facts } from './state.ts';
import { errorLineIn } from './error-line.ts';
import { createStderrRing, lastWordsOf } from './stderr-ring.ts';

/** Record of one server: its config, its status, its stderr and its last error. */
export type ServerRecord = ReturnType<typeof createServerRecord>;

export function createServerRecord(
  config: ServerConfig,
  audience: Facts['audience'],
  { clock, log, redact = text => text }: Pick<ServerNeeds, 'clock' | 'log' | 'redact'>,
) {
  const { name } = config;
  const stderr = createStderrRing(clock, redact);
  const logStatus = createStatusLog(log, clock, audience);
  const changed = createEmitter<ServerStatus>();
  let status: ServerStatus = { state: 'stopped', byHand: false };
  let lastError: Server['lastError'];
  /** The error for calls that wait for an instance of a session or of an era. */
  let failure: HubError | undefined;
  let closed: HubError | undefined;

  const record = {
    config,
    audience,
    changed: changed.event,
    /** True if an instance has run since the last launch. */
    hasRun: false,
    stderr,
    get status(): ServerStatus {
      // Only servers that all clients share are checked: if they are refused, so are their instances for sessions and
      // eras.
      const isHeld = status.state === 'stopped' && audience === 'all' && record.config.isManual;
      return isHeld ? { state: 'stopped', byHand: true } : status;
    },
    get lastError(): Server['lastError'] {
      return lastError;
    },
    get closed(): HubError | undefined {
      return closed;
    },
    publish(changedStatus: ServerStatus, running: Running | undefined): void {
      status = changedStatus;
      logStatus(status, running ? { ...running.instance.about, era: running.serverInfo.era } : {});
      changed.fire(record.status);
    },
    recordFailure(error: unknown): void {
      const message = redact(messageOf(error));
      // The message of a failed build contains the output of the build.
      const line =
        lastWordsOf(stderr, record.hasRun).line ?? errorLineIn(message.split('\n').slice(1));
      lastError = { at: clock.now(), message, line, stderr: stderr.text() };
      if (audience !== 'all')
        failure = error instanceof HubError ? error : record.gone(message, error);
    },
    failureOf: (error: unknown, isClean = false): ServerFailure => ({
      error,
      why: redact(messageOf(error)),
      isClean,
    }),
    /** Creates the error of a server that ended by itself, with the end of its stderr. */
    gone: (how: string, cause: unknown): HubError =>
      goneError(name, how, lastWordsOf(stderr, record.hasRun), cause),
    /** Returns why the server accepts no calls now; undefined if it runs or may be started. */
    refusal(): HubError | undefined {
      if (closed) return closed;
      if (audience !== 'all' && (status.state === 'failed' || status.state === 'needs_login'))
        return failure;
      return refusalOf(record.config, record.status, stderr.text(), clock.monotonic());
    },
    close(why: 'stopping' | 'removed'): void {
      closed ??= closedFor(name, why);
    },
  };
  return record;
}

/**
 * Logs one line for each state that a server enters. `about` identifies the running instance. The failure of a
 * session's instance is only a warning, since the next call starts it again.
 */
function createStatusLog(log: Log, clock: Clock, audience: Facts['audience']) {
  let state: ServerStatus['state'] = 'stopped';
  /** The last logged reason of an outage, so that retries do not log it again. */
  let away: string | undefined;

  return (status: ServerStatus, about: object): void => {
    const isNew = status.state !== state;
    state = status.state;
    if (status.state === 'starting') log.debug({ progress: status.progress }, 'starting');
    if (!isNew || status.state === 'starting') return;
    if (status.state === 'running') log.info(about, 'running');
    else if (status.state === 'stopped') log.info({ by_hand: status.byHand }, 'stopped');
    else if (status.state === 'stopping') {
      // If the server ended by itself, the next state logs how.
      if (!status.hasEnded) log.info({}, 'stopping');
    } else if (status.state === 'failed') {
      if (audience === 'session')
        log.warn({}, `${status.why}; the next call of its session starts it again`);
      else log.error({}, `the server has failed: ${status.why}`);
    } else if (status.state === 'needs_login') log.warn({}, status.why);
    else {
      const waitMs = Math.round(status.due - clock.monotonic());
      const line = `${status.why}, starting again in ${waitMs} ms`;
      if (status.why === away) log.debug({}, line);
      else log.warn({}, line);
    }
    away = status.state === 'unreachable' ? status.why : undefined;
  };
}

/** Maximum time that calls wait for a restart to begin, in milliseconds. */
const maxWaitMs = 5_000;

type WaitNeeds = {
  readonly clock: Clock;
  readonly record: ServerRecord;
  readonly running: () => Running | undefined;
  /** Starts the server, unless it is starting or running. */
  readonly start: () => void;
};

/**
 * Starts the server if necessary, and resolves when it runs. Waits for a restart that is due soon, but no longer than a
 * call may take, and not for a second start after a failed one. Rejects with HubError. Without `isRefused`, a failed
 * server is started as well.
 */
export async function whenRunning(needs: WaitNeeds, isRefused: boolean): Promise<Running> {
  const { clock, record } = needs;
  const waitMs = Math.min(maxWaitMs, record.config.callTimeoutMs);
  let hasSeenStart = false;

  function refused(): HubError | undefined {
    hasSeenStart ||= record.status.state === 'starting';
    return !hasSeenStart && isBackSoon(record.status) ? undefined : record.refusal();
  }

  function isBackSoon(status: ServerStatus): boolean {
    if (status.state === 'stopping') return status.hasEnded;
    return 'due' in status && status.due - clock.monotonic() <= waitMs;
  }

  const first = isRefused ? refused() : undefined;
  if (first) throw first;
  const { promise, resolve, reject } = Promise.withResolvers<Running>();
  using _ = record.changed(() => {
    const running = needs.running();
    if (record.status.state === 'running' && running) return resolve(running);
    const error = refused();
    if (error) reject(error);
  });
  // Ends the wait if the cleanup takes longer than the restart was expected to.
  using _late = clock.after(waitMs, () => {
    const error = hasSeenStart ? undefined : record.refusal();
    if (error && isRefused) reject(error);
  });
  needs.start();
  return await promise;
}
