import { type Clock, type Code, HubError, type Log, kindOf } from '#core';
import { type Request, RpcError } from '#jsonrpc';
import type { ResolvedCall } from './call.ts';

type Needs = {
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly newId: () => string;
};

/** More than this in a second have no id and no line: a server that is down may be called by many. */
const linesPerSecond = 50;
/** What says all that there is to say. */
const plain: ReadonlySet<Code> = new Set(['HUB_BREAKER_OPEN', 'HUB_SHUTTING_DOWN']);

/**
 * Gives the errors that somebody may look up an id, which stands in `data.id` of what the client is shown and as
 * `request` in the log. Ids are made for errors only.
 */
export function createRequestIds({ log, clock, newId }: Needs) {
  let startedMs = -Infinity;
  let lines = 0;

  function isRoom(): boolean {
    const nowMs = clock.monotonic();
    if (nowMs - startedMs >= 1_000) {
      startedMs = nowMs;
      lines = 0;
    }
    return ++lines <= linesPerSecond;
  }

  return {
    /** A failure that is no bug. */
    failed(error: HubError, { method }: Request, resolved: ResolvedCall | undefined): HubError {
      const kind = kindOf(error);
      if (kind !== 'timeout' && kind !== 'unavailable') return error;
      // It has a code that its kind does not tell.
      if (error instanceof RpcError) return error;
      if (plain.has(error.code) || !isRoom()) return error;
      const { code, message, cause, data } = error;
      const id = newId();
      log.warn(
        {
          request: id,
          method,
          server: resolved?.server?.config.name,
          session: resolved?.call.session.key,
          code,
          error: message,
        },
        'a request failed',
      );
      return new HubError(code, message, { cause, data: { ...data, id } });
    },
    /** What is not a HubError is a bug: its details are for the log, and the client gets the way to them. */
    bug(error: unknown, { method }: Request): HubError {
      const id = newId();
      const stack = error instanceof Error ? error.stack : String(error);
      log.error({ request: id, method, error: stack }, 'a request failed');
      return new HubError('HUB_INTERNAL', `the hub failed; its log says why under ${id}`, {
        data: { id },
      });
    },
  };
}
