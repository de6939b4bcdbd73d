import { type Clock, type Code, HubError, type Log, kindOf } from '#core';
import { type Request, RpcError } from '#jsonrpc';
import type { ResolvedCall } from './call.ts';

type Needs = {
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly newId: () => string;
};

/**
 * Maximum number of logged errors per second. Further errors get no id and no log line, because many clients may call
 * a server that is down.
 */
const linesPerSecond = 50;
/** Codes that need no id and no log line. */
const plain: ReadonlySet<Code> = new Set(['HUB_BREAKER_OPEN', 'HUB_SHUTTING_DOWN']);

/**
 * Gives an id to errors that an operator may look up. The client gets the id in `data.id`, and the log has it as
 * `request`. Ids are made for errors only.
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
    /** Handles a failure that is not a bug. */
    failed(error: HubError, { method }: Request, resolved: ResolvedCall | undefined): HubError {
      const kind = kindOf(error);
      if (kind !== 'timeout' && kind !== 'unavailable') return error;
      // An RpcError has its own code, which its kind does not determine.
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
    /**
     * Handles a bug, which is any error that is not a HubError. The log gets the details, and the client gets the id
     * to find them.
     */
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
