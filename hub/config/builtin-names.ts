/** Names of the hub's own MCP servers. An entry of the config may have one: the hub's server then gets another name. */
const builtinNames: ReadonlySet<string> = new Set(['agenthub', 'agents', 'tasks', 'documentation']);

/** The current name of a server of the hub's own: `agenthub`, or `agenthub-builtin` if an entry has that name. */
export function builtinNameOf(name: string, isTaken: (name: string) => boolean): string {
  let current = name;
  while (isTaken(current)) current = `${current}-builtin`;
  return current;
}

/** One sentence for each entry whose name is that of a server of the hub's own. */
export const builtinNameWarnings = (servers: readonly { readonly name: string }[]) =>
  servers
    .filter(({ name }) => builtinNames.has(name))
    .map(({ name }) => {
      const other = builtinNameOf(name, taken => servers.some(server => server.name === taken));
      return `${name}: the hub has a server of this name itself, which is called ${other} while this entry exists. Rename the entry to avoid confusion`;
    });
