import { type HubAddress, endpointOf } from '#clients';
import type { ExitCode, Run } from './command.ts';

/** Obsidian itself is no client of MCP, so there is no file to write: plugins of it get the address. */
export function showObsidian(hub: HubAddress, { isJson, out, json }: Run): ExitCode {
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
