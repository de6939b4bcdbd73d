import type { Log } from '#core';
import { type Server, unknownToolsOf } from '#servers';

/** Creates a function that logs, once each, the tools that the config names and their servers do not have. */
export function createUnknownToolLog(log: Log) {
  const known = new WeakMap<Server, string>();
  return (servers: readonly Server[]): void => {
    for (const server of servers) {
      const names = unknownToolsOf(server);
      const text = names.join(', ');
      if (text === (known.get(server) ?? '')) continue;
      known.set(server, text);
      if (names.length > 0)
        log.warn(
          { server: server.config.name, tools: names },
          '"tools" of the server names tools that it does not have',
        );
    }
  };
}
