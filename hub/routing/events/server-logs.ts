import type { Clock, Log } from '#core';
import type { Server } from '#servers';
import { type LimitedLog, createLimitedLog } from '#upstream';

/** Maximum length of a method name in the log, in characters. Servers choose method names. */
const maxMethodLength = 100;

export const loggedMethod = (method: string): string => method.slice(0, maxMethodLength);

export type ServerLogs = ReturnType<typeof createServerLogs>;

/** Creates the log of all servers, and a rate-limited log per server for lines that a server can trigger at will. */
export function createServerLogs({
  log,
  clock,
}: {
  readonly log: Log;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
}) {
  const logs = new WeakMap<Server, LimitedLog>();
  const logOf = (server: Server): LimitedLog => {
    const found =
      logs.get(server) ?? createLimitedLog(log.child({ server: server.config.name }), { clock });
    logs.set(server, found);
    return found;
  };
  return { log, logOf };
}
