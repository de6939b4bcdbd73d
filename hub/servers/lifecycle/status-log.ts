import type { Clock, Log } from '#core';
import type { ServerStatus } from '../server-types.ts';

/**
 * Writes the life of a server to its log: one line for each state that it comes to. `about` is what
 * identifies the instance that runs; the end of one that a session has for itself (`isOwn`) is no failure of
 * the server, since the next call starts it again.
 */
export function createStatusLog(
  log: Log,
  needs: { readonly clock: Pick<Clock, 'monotonic'>; readonly isOwn: boolean },
): (status: ServerStatus, about: object) => void {
  let state: ServerStatus['state'] = 'stopped';
  /** Why it was away when that was last said: who waits for an engine need not read it every 30 s. */
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
        // How it ended is said with what becomes of it.
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
