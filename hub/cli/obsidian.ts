import { type HubAddress, endpointOf } from '#clients';
import type { ExitCode, Run } from './command.ts';

/** Prints the hub's address for Obsidian plugins. Obsidian itself is not an MCP client and has no file to write to. */
export function showObsidian(
  hub: Omit<HubAddress, 'bridge'>,
  { isJson, out, json }: Run,
): ExitCode {
  const url = endpointOf(hub);
  if (isJson) return json({ client: 'obsidian', url, notes: [noClient] });
  out(noClient);
  out(`Address for plugins: ${url}`);
  if (hub.token !== undefined)
    out(
      'The hub requires a token: "agenthub token create obsidian" makes one. Plugins send it as "Authorization: Bearer TOKEN".',
    );
  out('To write documentation of a repository into a vault, see "agenthub docs --help".');
  return 0;
}

const noClient =
  'Obsidian has no MCP client of its own, so there is nothing to write. Plugins that speak MCP over HTTP can use the hub.';
