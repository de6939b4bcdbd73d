import { HubError, isObject } from '#core';
import type { ClientCommandNeeds } from './client-change.ts';
import type { Io, Options, Values } from './command.ts';
import { textsOf } from './values.ts';

/** A setting beyond the default sandbox that the user has to confirm. */
export type Confirmation = { readonly name: string; readonly message: string };

/** `--allow`, for all commands that add servers. */
export const allowOption = {
  allow: {
    type: 'string',
    multiple: true,
    placeholder: 'name',
    help: 'Allow a setting beyond the default sandbox, by the name in the question. Repeatable.',
  },
} as const satisfies Options;

/**
 * Asks the user to confirm each setting that `--allow` does not name. Returns all names if the user agrees, or
 * undefined after the first "no". Throws HUB_USAGE if `--allow` names a setting that the server does not have, or if
 * there is no terminal to ask on.
 */
export async function confirmEach(
  server: string,
  settings: readonly Confirmation[],
  values: Values,
  { ask, io }: Pick<ClientCommandNeeds, 'ask'> & { readonly io: Io },
): Promise<readonly string[] | undefined> {
  const allowed = textsOf(values, 'allow');
  const names = settings.map(({ name }) => name);
  const unknown = allowed.find(name => !names.includes(name));
  if (unknown !== undefined)
    throw new HubError(
      'HUB_USAGE',
      `--allow: ${JSON.stringify(unknown)} is not a setting that ${server} asks for: ${names.join(', ') || 'nothing beyond the default sandbox'}. Remove it`,
    );
  const open = settings.filter(({ name }) => !allowed.includes(name));
  if (open.length > 0 && (!ask || values['json'] === true)) throw cannotAsk(server, open);
  for (const { name, message } of open) {
    const shown = (text: string) => io.errorScreen.foreign(text).replaceAll('\n', ' ');
    io.err(shown(`${server}: ${message}`));
    const answer = (await ask?.(shown(`Allow ${name}? [y/N] `), io.signal)) ?? '';
    if (!/^y(?:es)?$/i.test(answer.trim())) return undefined;
  }
  return names;
}

const cannotAsk = (server: string, open: readonly Confirmation[]) =>
  new HubError(
    'HUB_USAGE',
    [
      `${server} needs more than the default sandbox, and there is no terminal to ask on:`,
      ...open.map(({ name, message }) => `  ${name}: ${message}`),
      `Nothing was written. To agree, add ${open.map(({ name }) => `--allow ${quoted(name)}`).join(' ')}`,
    ].join('\n'),
  );

/** The settings that the hub wants confirmed, if that is why it refused, with the server's name. */
export function confirmationsIn(
  error: unknown,
): { readonly server: string; readonly settings: readonly Confirmation[] } | undefined {
  if (!(error instanceof HubError) || error.code !== 'HUB_CONFIRMATION_NEEDED') return undefined;
  const { loosenings, server = 'The server' } = error.data;
  const list: readonly unknown[] = Array.isArray(loosenings) ? loosenings : [];
  const settings = list
    .filter(isObject)
    .map(({ name, message }) => ({ name: String(name), message: String(message) }));
  return { server, settings };
}

/** Quotes a word for the shell. */
const quoted = (name: string) =>
  /^[\w:/.@=-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
