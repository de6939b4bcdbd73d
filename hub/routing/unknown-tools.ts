import type { Log } from '#core';
import { type Server, unknownToolsOf, unkeptToolsOf } from '#servers';

const kinds = [
  [unknownToolsOf, () => 'the entry of the server names tools that it does not have'],
  [
    unkeptToolsOf,
    ({ config }: Server) =>
      `"cache" of the server names tools that do not declare the hints it asks for, so their results are not kept. ${
        config.cache?.hints === 'read_only'
          ? 'They do not declare "readOnlyHint": remove them from "cache"'
          : 'If they declare "readOnlyHint" and you trust that, set "hints": "read_only"'
      }`,
  ],
] as const;

/** Creates a function that logs names of tools in the config that match no tool, once each. */
export function createUnknownToolLog(log: Log) {
  const known = kinds.map(() => new WeakMap<Server, string>());
  return (servers: readonly Server[]): void => {
    for (const server of servers)
      for (const [index, [toolsOf, messageOf]] of kinds.entries()) {
        const names = toolsOf(server);
        const text = names.join(', ');
        if (text === (known[index]?.get(server) ?? '')) continue;
        known[index]?.set(server, text);
        if (names.length > 0)
          log.warn({ server: server.config.name, tools: names }, messageOf(server));
      }
  };
}
