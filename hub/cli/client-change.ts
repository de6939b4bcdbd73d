import {
  type ClientName,
  type Clients,
  type DiffLine,
  type HubAddress,
  type ConnectTarget,
  clientNames,
  defaultEntryName,
} from '#clients';
import { findClosest } from '#config';
import { HubError } from '#core';
import type { Io, Options, Positional, Values } from './command.ts';
import type { TextStyle } from './screen.ts';
import { jsonOption, textOf } from './values.ts';

export type ClientCommandNeeds = {
  readonly openClients: () => Promise<Clients>;
  /** The command with which a client starts `agenthub connect-stdio`. */
  readonly findBridge: () => Promise<HubAddress['bridge']>;
  /** Asks the user and resolves with the answer. Undefined if there is no terminal. */
  readonly ask: ((question: string, signal: AbortSignal) => Promise<string>) | undefined;
};

/** `--dry-run`, `--yes` and `--json`, for all commands that change files of other programs. */
export const changeOptions = {
  'dry-run': { type: 'boolean', help: 'Only show what would be written.' },
  yes: {
    type: 'boolean',
    short: 'y',
    help: 'Write without asking. Required without a terminal.',
  },
  ...jsonOption,
} as const satisfies Options;

/** Options of `connect` and `disconnect` that select a file and an entry. */
export const targetOptions = {
  workspace: { type: 'boolean', help: 'For this folder only, if the client supports it.' },
  file: {
    type: 'string',
    placeholder: 'file',
    completion: 'file',
    help: "Use this file instead of the client's own, such as the file of a profile.",
  },
  name: {
    type: 'string',
    placeholder: 'name',
    help: `Name of the hub in the file. Default: ${defaultEntryName}.`,
  },
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
  const meant = findClosest(word, clientNames);
  throw new HubError(
    'HUB_USAGE',
    `${JSON.stringify(word)} is not a client.${meant === undefined ? '' : ` Did you mean "${meant}"?`} Clients: ${clientNames.join(', ')}`,
  );
}

/** The client entry that the options select. Throws HUB_USAGE. */
export function targetOf(client: ClientName, values: Values): ConnectTarget {
  const name = textOf(values, 'name') ?? defaultEntryName;
  if (!/^[\w-]{1,32}$/.test(name))
    throw new HubError(
      'HUB_USAGE',
      `--name: ${JSON.stringify(name)} is not allowed: write 1 to 32 letters, digits, "_" and "-"`,
    );
  const scope = values['workspace'] === true ? 'workspace' : 'user';
  return { client, scope, file: textOf(values, 'file'), name };
}

/** True if the files may be written; asks on a terminal. Throws HUB_USAGE if there is no terminal to ask on. */
export async function isAgreed(
  question: string,
  values: Values,
  { ask }: ClientCommandNeeds,
  { signal }: Io,
): Promise<boolean> {
  if (values['dry-run'] === true) return false;
  if (values['yes'] === true) return true;
  if (!ask || values['json'] === true)
    throw new HubError(
      'HUB_USAGE',
      'nothing was written: there is no terminal to ask on. Add --yes to write, or --dry-run to see what would be written',
    );
  return /^y(?:es)?$/i.test((await ask(`${question} [y/N] `, signal)).trim());
}

const styles: Readonly<Record<DiffLine['sign'], TextStyle | undefined>> = {
  '-': 'red',
  '+': 'green',
  '@': 'dim',
  ' ': undefined,
};

/** Prints a diff. */
export function showDifference(lines: readonly DiffLine[], { out, screen }: Io): void {
  for (const { sign, text } of lines) {
    const line = screen.foreign(sign === '@' ? text : sign + text);
    const style = styles[sign];
    out(style === undefined ? line : screen.paint(style, line));
  }
}
