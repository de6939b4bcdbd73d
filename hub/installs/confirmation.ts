import { type ServerConfig, findLoosenings } from '#config';
import { HubError, shown } from '#core';
import type { InstallEntry } from './request.ts';

/** A setting that the request must confirm by name before the entry is installed. */
export type Unconfirmed = { readonly name: string; readonly message: string };

/** Returns the settings of an entry that need confirmation. `others`: all servers in the config file. Pure. */
export const confirmationsFor = (
  entry: InstallEntry,
  config: ServerConfig,
  others: readonly ServerConfig[],
): readonly Unconfirmed[] =>
  findLoosenings(entry, config, others)
    .filter(({ needsConfirmation }) => needsConfirmation)
    .map(({ name, message }) => ({ name, message }));

/** Throws HUB_CONFIRMATION_NEEDED unless `confirmed` names exactly these settings: an extra one is an error too. */
export function requireConfirmed(
  server: string,
  loosenings: readonly Unconfirmed[],
  confirmed: readonly string[],
): void {
  const missing = loosenings.filter(({ name }) => !confirmed.includes(name));
  const unknown = confirmed.filter(name => !loosenings.some(one => one.name === name));
  if (missing.length + unknown.length === 0) return;
  const lines = unknown.map(
    name => `"confirm" names ${shown(name)}, which the entry of ${server} does not have`,
  );
  if (missing.length > 0)
    lines.unshift(
      `${server} asks for more than the default sandbox, and these are not confirmed:`,
      ...missing.map(({ name, message }) => `  ${name}: ${message}`),
    );
  const names = loosenings.map(({ name }) => name);
  lines.push(
    `Nothing was begun. To install it, send the request again with "confirm": ${JSON.stringify(names)}`,
  );
  throw new HubError('HUB_CONFIRMATION_NEEDED', lines.join('\n'), {
    data: { server, loosenings, missing: missing.map(({ name }) => name), unknown },
  });
}
