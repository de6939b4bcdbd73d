import { type ClientName, type ConnectTarget, clientNames, defaultEntryName } from '#clients';
import type { Options, Positional } from './command.ts';
import { type Values, guess, textOf, usageError } from './values.ts';

/** Options of `connect` and `disconnect` that select a file and an entry. */
export const targetOptions = {
  workspace: { help: 'For this folder only, if the client supports it.' },
  file: {
    value: 'file',
    completion: 'file',
    help: "Use this file instead of the client's own, such as the file of a profile.",
  },
  name: { value: 'name', help: `Name of the hub in the file. Default: ${defaultEntryName}.` },
} as const satisfies Options;

export const clientPositional = {
  name: 'client',
  help: clientNames.join(', '),
  completion: clientNames,
} as const satisfies Positional;

/** Finds a client by name. Throws HUB_USAGE with the list of clients. */
export function clientOf(word: string): ClientName {
  const found = clientNames.find(name => name === word);
  if (found !== undefined) return found;
  throw usageError(
    `${JSON.stringify(word)} is not a client.${guess(word, clientNames)} Clients: ${clientNames.join(', ')}`,
  );
}

/** Returns the client's entry that the options select. Throws HUB_USAGE for an invalid name. */
export function targetOf(client: ClientName, values: Values): ConnectTarget {
  const name = textOf(values, 'name') ?? defaultEntryName;
  if (!/^[\w-]{1,32}$/.test(name))
    throw usageError(
      `--name: ${JSON.stringify(name)} is not allowed: write 1 to 32 letters, digits, "_" and "-"`,
    );
  const scope = values['workspace'] === true ? 'workspace' : 'user';
  return { client, scope, file: textOf(values, 'file'), name };
}
