import { HubError, shellWord } from '#core';
import { type Options, type Run, jsonOption } from './command.ts';
import type { CliNeeds, LoadedConfig } from './needs.ts';
import { objectsIn } from './responses.ts';
import { emptyAtEnd } from './terminal.ts';
import { textsOf, usageError } from './values.ts';

/** A setting beyond the default sandbox that the user has to confirm. */
type Confirmation = { readonly name: string; readonly message: string };

/** Options `--dry-run`, `--yes` and `--json`, for all commands that change files of other programs. */
export const changeOptions = {
  'dry-run': { help: 'Only show what would be written.' },
  yes: { short: 'y', help: 'Write without asking. Required without a terminal.' },
  ...jsonOption,
} as const satisfies Options;

/** Option `--allow`, for all commands that add servers. */
export const allowOption = {
  value: 'name',
  multiple: true,
  help: 'Allow a setting beyond the default sandbox, by the name in the question. Repeatable.',
} as const;

/** Loads the config for an edit. Throws HubError, with a hint how to create the file, if it does not exist. */
export async function loadForEdit({
  loadConfig,
}: Pick<CliNeeds['files'], 'loadConfig'>): Promise<LoadedConfig> {
  try {
    const loaded = await loadConfig(undefined);
    if (loaded.insteadOf === undefined) return loaded;
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_CONFIG_MISSING') throw error;
  }
  throw new HubError(
    'HUB_CONFIG_MISSING',
    'no hub is running, and there is no config file to change. Create one with "agenthub init", or start a hub with "agenthub serve"',
  );
}

/**
 * Loads the config to add a server. If there is no config file, writes the default one first, as the hub's first start
 * would, and prints a note.
 */
export async function loadToAdd({ needs, remark }: Run): Promise<LoadedConfig> {
  const written = await needs.files.createConfig();
  if (written !== undefined) remark('note', firstConfigNote(written));
  return await loadForEdit(needs.files);
}

export const firstConfigNote = (file: string) =>
  `wrote ${file}, with the servers that come with AgentHub: there was no config file yet`;

/** True if files may be written. Asks on a terminal; throws HUB_USAGE if there is none and no option decides. */
export async function isAgreed(
  question: string,
  { values, isJson, needs, signal }: Run,
  /** What to do without a terminal, for commands without `--dry-run`. */
  remedy = 'Add --yes to write, or --dry-run to see what would be written',
): Promise<boolean> {
  if (values['dry-run'] === true) return false;
  if (values['yes'] === true) return true;
  if (!needs.ask || isJson)
    throw usageError(`nothing was written: there is no terminal to ask on. ${remedy}`);
  return isYes(await needs.ask(`${question} [y/N] `, signal).catch(emptyAtEnd));
}

const isYes = (answer: string) => /^y(?:es)?$/i.test(answer.trim());

/** Shows why a server needs a setting, and asks the user to allow it. */
export async function isAllowedByUser(
  server: string,
  { message }: Confirmation,
  question: string,
  { needs, err, errorScreen, signal }: Run,
): Promise<boolean> {
  const shown = (text: string) => errorScreen.foreign(text).replaceAll('\n', ' ');
  err(shown(`${server}: ${message}`));
  return isYes((await needs.ask?.(shown(`${question} [y/N] `), signal).catch(emptyAtEnd)) ?? '');
}

/**
 * Asks the user to confirm each setting that `--allow` does not name. Returns all names if the user agrees, or
 * undefined after the first "no". Throws HUB_USAGE if `--allow` names a setting that the server does not have, or if
 * there is no terminal to ask on.
 */
export async function confirmEach(
  server: string,
  settings: readonly Confirmation[],
  run: Run,
): Promise<readonly string[] | undefined> {
  const allowed = textsOf(run.values, 'allow');
  const names = settings.map(({ name }) => name);
  const open = settings.filter(({ name }) => !allowed.includes(name));
  const unknown = allowed.find(name => !names.includes(name));
  if (unknown !== undefined)
    throw usageError(
      `--allow: ${JSON.stringify(unknown)} is not a setting that ${server} asks for: ${names.join(', ') || 'nothing beyond the default sandbox'}. ${open.length > 0 ? `To agree, write ${allowing(open)} instead` : 'Remove it'}`,
    );
  if (open.length > 0 && (!run.needs.ask || run.isJson)) throw cannotAsk(server, open);
  for (const each of open)
    if (!(await isAllowedByUser(server, each, `Allow ${each.name}?`, run))) return undefined;
  return names;
}

/** Returns the options that confirm these settings. */
const allowing = (settings: readonly Confirmation[]) =>
  settings.map(({ name }) => `--allow ${shellWord(name)}`).join(' ');

const cannotAsk = (server: string, open: readonly Confirmation[]) =>
  usageError(
    [
      `${server} needs more than the default sandbox, and there is no terminal to ask on:`,
      ...open.map(({ name, message }) => `  ${name}: ${message}`),
      `Nothing was written. To agree, add ${allowing(open)}`,
    ].join('\n'),
  );

/**
 * Returns the settings that the user must confirm, with the server's name, if that is why the hub refused the request.
 */
export function confirmationsIn(error: unknown) {
  if (!(error instanceof HubError) || error.code !== 'HUB_CONFIRMATION_NEEDED') return undefined;
  const { loosenings, server = 'The server' } = error.data;
  const settings = objectsIn(loosenings).map(({ name, message }) => ({
    name: String(name),
    message: String(message),
  }));
  return { server, settings };
}

/** Returns the run with further settings that `--allow` names. */
export const alsoAllowing = (names: readonly string[], run: Run): Run => ({
  ...run,
  values: { ...run.values, allow: [...textsOf(run.values, 'allow'), ...names] },
});

/**
 * Does work with the settings of `--allow`, and again with all that the user confirms if the hub asks for them.
 * `isAgreed` is true for settings that the user has allowed already. Resolves with undefined if the user does not agree.
 */
export async function doConfirmed(
  run: Run,
  work: (confirm: readonly string[]) => Promise<unknown>,
  isAgreed: (setting: string) => boolean = () => false,
): Promise<unknown> {
  try {
    return await work(textsOf(run.values, 'allow'));
  } catch (error) {
    const needed = confirmationsIn(error);
    if (!needed) throw error;
    const agreed = needed.settings.map(({ name }) => name).filter(isAgreed);
    const confirmed = await confirmEach(needed.server, needed.settings, alsoAllowing(agreed, run));
    return confirmed && (await work(confirmed));
  }
}
