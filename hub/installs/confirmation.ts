import { type ServerConfig, findLoosenings } from '#config';
import { HubError } from '#core';
import type { Entry } from './request.ts';

/** A setting that the request must confirm by name before the entry is installed. */
export type Unconfirmed = { readonly name: string; readonly message: string };

/** Returns the settings of an entry that need confirmation. `others` are the servers in the file. Pure. */
export const confirmationsFor = (
  entry: Entry,
  config: ServerConfig,
  others: readonly ServerConfig[],
): readonly Unconfirmed[] =>
  findLoosenings(entry, config, others)
    .filter(({ needsConfirmation }) => needsConfirmation)
    .map(({ name, message }) => ({ name, message }));

/**
 * Throws HUB_CONFIRMATION_NEEDED, with all settings to confirm, unless `confirmed` names exactly those. An extra name
 * is refused too: its sender expects another entry.
 */
export function requireConfirmed(
  server: string,
  loosenings: readonly Unconfirmed[],
  confirmed: readonly string[],
): void {
  const missing = loosenings.filter(({ name }) => !confirmed.includes(name));
  const unknown = confirmed.filter(name => !loosenings.some(one => one.name === name));
  if (missing.length + unknown.length === 0) return;
  const told = [
    ...(missing.length > 0
      ? [
          `${server} asks for more than the default sandbox, and these are not confirmed:`,
          ...missing.map(({ name, message }) => `  ${name}: ${message}`),
        ]
      : []),
    ...unknown.map(
      name => `"confirm" names ${JSON.stringify(name)}, which the entry of ${server} does not have`,
    ),
    `Nothing was begun. To install it, send the request again with "confirm": ${JSON.stringify(loosenings.map(({ name }) => name))}`,
  ];
  throw new HubError('HUB_CONFIRMATION_NEEDED', told.join('\n'), {
    data: { server, loosenings, missing: missing.map(({ name }) => name), unknown },
  });
}
