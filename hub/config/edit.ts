import { resolve } from 'node:path';
import { HubError, type JsonObject, messageOf } from '#core';
import type { Config, ServerConfig } from './config.ts';
import { type Difference, diffConfigs } from './diff.ts';
import { parseText } from './document.ts';
import { inheritedServers } from './extends.ts';
import { type ReadText, codeOf, formatOf, misnamed, readText, unreadable } from './files.ts';
import { type LoadOptions, readConfig } from './load.ts';
import { type Written, isNull, valueOf } from './located.ts';
import { standingAlone } from './merge.ts';
import { serverName } from './server-schema.ts';
import { type ReadBytes, noShippedFiles } from './shipped.ts';

/** Changes the servers in config files: the text around them stays as it is, byte for byte. */
export interface ConfigEditor {
  /**
   * Adds a server at the end, or in the place of the `null` which takes away that of a file in `extends`.
   * Rejects with HUB_CONFIG_CONFLICT where there is one of that name, here or there, and as `setServer`.
   */
  addServer(file: string, name: string, entry: JsonObject): Promise<Config>;
  /**
   * Puts another entry in the place of the file's own. Rejects with HUB_SERVER_UNKNOWN where it has none,
   * HUB_CONFIG_INVALID where the config would not be valid with it, HUB_CONFIG_CONFLICT where somebody
   * else writes the file at the same time, and HUB_CONFIG_UNWRITABLE where it cannot be written.
   */
  setServer(file: string, name: string, entry: JsonObject): Promise<Config>;
  /**
   * Takes a server out. One that comes from a file in `extends` becomes `null` in this file, which takes it
   * away; the other file stays. Rejects as `setServer`.
   */
  removeServer(file: string, name: string): Promise<Config>;
  /** The server that `addServer` would add, of which nothing is written. Rejects as `addServer`. */
  preview(file: string, name: string, entry: JsonObject): Promise<ServerConfig>;
}

export type ConfigEditorNeeds = {
  /** The environment of that moment, to check what would be written. */
  readonly readOptions: () => Promise<LoadOptions>;
  /** How files are read, where that is not as they are. */
  readonly readBytes?: ReadBytes | undefined;
  /**
   * Replaces a file whole, and rejects with the error of the system, leaving nothing behind. `check` is
   * awaited right before the new text takes the old one's place; what it throws is thrown on.
   */
  readonly writeWhole: (file: string, text: string, check: () => Promise<void>) => Promise<void>;
};

/** Edits that may wait for the one before them. */
const maxWaiting = 100;
/** A file that somebody else wrote meanwhile is read again once. */
const attempts = 2;

/** What becomes of the file: given what it says, what it shall say. */
type Change = {
  readonly name: string;
  readonly kind: 'add' | 'set' | 'remove';
  readonly entry: JsonObject | undefined;
};

/** Edits are made one after another, each on what the one before has written. */
export function createConfigEditor(needs: ConfigEditorNeeds): ConfigEditor {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function edit(file: string, change: Change): Promise<Config> {
    if (waiting >= maxWaiting)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `${file}: ${maxWaiting} changes to it are waiting already. Try again later`,
        { data: { retryable: true } },
      );
    waiting++;
    const mine = last.then(() => editNow(file, change, needs)).finally(() => waiting--);
    last = mine.catch(() => {});
    return await mine;
  }

  return {
    addServer: async (file, name, entry) => await edit(file, { name, kind: 'add', entry }),
    setServer: async (file, name, entry) => await edit(file, { name, kind: 'set', entry }),
    async preview(file, name, entry) {
      const text = await readExactly(file, needs);
      const change: Change = { name, kind: 'add', entry };
      const { config } = await prepare(file, text, change, await needs.readOptions());
      const found = config.servers.find(server => server.name === name);
      if (!found) throw uneditable(file);
      return found;
    },
    removeServer: async (file, name) =>
      await edit(file, { name, kind: 'remove', entry: undefined }),
  };
}

/** Thrown by the check before the text is replaced. */
class Overtaken extends Error {}

async function editNow(file: string, change: Change, needs: ConfigEditorNeeds): Promise<Config> {
  for (let attempt = 1; ; attempt++) {
    const text = await readExactly(file, needs);
    const { text: edited, config } = await prepare(file, text, change, await needs.readOptions());
    try {
      await needs.writeWhole(file, edited, async () => {
        if ((await readExactly(file, needs)) !== text) throw new Overtaken();
      });
      return config;
    } catch (error) {
      if (!(error instanceof Overtaken)) throw unwritable(file, error);
      if (attempt === attempts)
        throw new HubError(
          'HUB_CONFIG_CONFLICT',
          `${file}: somebody else is writing it, so nothing was changed. Try again when that is done`,
          { data: { retryable: true } },
        );
    }
  }
}

/** The new text, and the config that it makes, before anything is written. */
async function prepare(
  file: string,
  text: string,
  change: Change,
  options: LoadOptions,
): Promise<{ readonly text: string; readonly config: Config }> {
  const { name, kind } = change;
  const format = formatOf(file);
  if (!format) throw misnamed(file);
  const named = serverName.safeParse(name);
  if (kind === 'add' && named.error)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `name: ${JSON.stringify(name)} is not allowed: ${named.error.issues[0]?.message ?? ''}`,
    );
  const before = await readConfig(file, { ...options, readText: withText(file, text) });
  const { root } = await parseText({ file, text: text.replace(/^\uFEFF/, '') }, format);
  if (before.error && !root) throw before.error;
  const inherited = await inheritedServers(file, { ...options, readText: withText(file, text) });
  // Most hubs never write their config.
  const { editableText } = await import('./edit-text.ts');
  const editable = await editableText(text, format);
  const inheritance = inherited.get(name);
  const below = inheritance?.spot.source.file;
  const exists = editable.has(name);
  const isTakenAway = ['servers', 'mcpServers']
    .map(form => valueOf(valueOf(root, form), name))
    .some(value => value !== undefined && isNull(value));
  if (kind === 'add' && !isTakenAway && (exists || below !== undefined))
    throw taken(file, name, below);
  if (kind !== 'add' && !exists && (kind === 'set' || below === undefined))
    throw unknown(file, name, below);
  const next = nextOf(change, inheritance?.value);
  const edited = editable.with(name, next);
  if (edited === undefined) throw uneditable(file);
  const after = await readConfig(file, { ...options, readText: withText(file, edited) });
  if (after.error) throw after.error;
  const isThere = after.config.servers.some(server => server.name === name);
  const isOnly = !before.config || concernsOnly(diffConfigs(before.config, after.config), name);
  if (isThere !== (kind !== 'remove') || !isOnly) throw uneditable(file);
  return { text: edited, config: after.config };
}

/** What the file is to say of the server. */
function nextOf({ kind, entry }: Change, below: Written | undefined) {
  if (kind === 'remove') return below && null;
  return kind === 'add' && entry && below ? standingAlone(entry, below) : entry;
}

/** An anchor that others refer to would change them too. */
function concernsOnly({ added, removed, changed, naming }: Difference, name: string): boolean {
  const names = [...added, ...removed, ...changed.map(({ after }) => after)];
  return !naming && names.every(server => server.name === name);
}

const withText =
  (file: string, text: string): ReadText =>
  async path =>
    path === resolve(file) ? text : await readText(path);

/** The text, if it is UTF-8: else what is written back would be something else. */
async function readExactly(
  file: string,
  { readBytes = noShippedFiles.readBytes }: ConfigEditorNeeds,
): Promise<string> {
  const bytes = await readBytes(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  throw new HubError('HUB_CONFIG_INVALID', `${file}: it is not UTF-8. Save it as UTF-8`);
}

const taken = (file: string, name: string, below: string | undefined) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: there is a server "${name}" already${below === undefined ? '' : `, in ${below}, which it extends`}. Choose another name, or remove that one ${below === undefined ? 'first' : 'there'}`,
  );

const unknown = (file: string, name: string, below: string | undefined) =>
  new HubError(
    'HUB_SERVER_UNKNOWN',
    `${file}: it holds no server ${JSON.stringify(name)}${below === undefined ? '' : `, which is in ${below}: change it there`}`,
    { data: { server: name } },
  );

const uneditable = (file: string) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: it is written in a way (anchors, aliases or unusual YAML) that lets no server be changed without others. Edit it by hand`,
  );

const remedies = new Map([
  ['ENOSPC', 'the disk is full. Make room on it'],
  ['EDQUOT', "this user's share of the disk is used up. Make room on it"],
  ['EROFS', 'it is on a file system that is read-only. Mount its folder writable'],
  ['EACCES', 'this user may not write in its folder. Give it the right to'],
  ['EPERM', 'this user may not replace it. Give it the right to'],
  // To write it in place instead would leave half a file behind where the hub dies meanwhile.
  [
    'EBUSY',
    'it is mounted by itself, and so cannot be replaced whole. Mount its folder instead of the file',
  ],
  ['EXDEV', 'it is mounted by itself. Mount its folder instead of the file'],
]);

/** The error for a file that could not be replaced, with what to do about it. */
export function unwritable(file: string, error: unknown): HubError {
  if (error instanceof HubError) return error;
  const remedy =
    remedies.get(String(codeOf(error))) ?? `${messageOf(error)}. Mend that, or name another file`;
  return new HubError(
    'HUB_CONFIG_UNWRITABLE',
    `${file} cannot be written, and is as it was: ${remedy}`,
    { cause: error },
  );
}
