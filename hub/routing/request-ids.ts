import { type Clock, type Code, type Log, HubError, kindOf } from '#core';
import { type Request, RpcError } from '#jsonrpc';
import type { ResolvedCall } from './call.ts';

/** Maximum number of errors per second that get an id and a log line: many clients may call a server that is down. */
const linesPerSecond = 50;
/** Codes that need no id and no log line. */
const plain: ReadonlySet<Code> = new Set([
  'HUB_AUDIT_UNAVAILABLE',
  'HUB_BREAKER_OPEN',
  'HUB_SHUTTING_DOWN',
]);

/** Gives an id to errors that an operator may look up: `data.id` in the answer, `request` in the log. */
export function createRequestIds({
  log,
  clock,
  newId,
}: {
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly newId: () => string;
}) {
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
     * Handles a bug, which is any error that is not a HubError: logs the details, and returns an error with only an
     * id.
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
