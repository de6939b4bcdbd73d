import type { Clock, Log } from '#core';
import type { ServerStatus } from '../server-types.ts';

/**
 * Logs one line for each state that a server enters. `about` identifies the running instance. The end of a
 * session's instance (`isOwn`) is only a warning, since the next call starts it again.
 */
export function createStatusLog(
  log: Log,
  needs: { readonly clock: Pick<Clock, 'monotonic'>; readonly isOwn: boolean },
): (status: ServerStatus, about: object) => void {
  let state: ServerStatus['state'] = 'stopped';
  /** The last logged reason of an outage, which is not repeated at every retry. */
  let away: string | undefined;

  return (status, about) => {
    const isNew = status.state !== state;
    state = status.state;
    if (status.state === 'starting') log.debug({ progress: status.progress }, 'starting');
    if (!isNew) return;
    switch (status.state) {
      case 'starting':
        return;
      case 'running':
        log.info(about, 'running');
        break;
      case 'stopping':
        // The next state says how it ended.
        if (!status.hasEnded) log.info({}, 'stopping');
        break;
      case 'stopped':
        log.info({ by_hand: status.byHand }, 'stopped');
        break;
      case 'failed':
        if (needs.isOwn)
          log.warn({}, `${status.why}; the next call of its session starts it again`);
        else log.error({}, `the server has failed: ${status.why}`);
        break;
      case 'unreachable':
      case 'backing_off': {
        const waitMs = Math.round(status.due - needs.clock.monotonic());
        const line = `${status.why}, starting again in ${waitMs} ms`;
        if (status.why === away) log.debug({}, line);
        else log.warn({}, line);
        break;
      }
    }
    away = status.state === 'unreachable' ? status.why : undefined;
  };
}
