import { resolve } from 'node:path';
import { HubError, type JsonObject, messageOf } from '#core';
import type { Config, ServerConfig } from '../config.ts';
import { type Difference, diffConfigs } from '../diff.ts';
import { parseText } from '../document.ts';
import { inheritedServers } from '../extends.ts';
import { type ReadText, codeOf, formatOf, misnamed, readText, unreadable } from '../files.ts';
import { type LoadOptions, readConfig } from '../load.ts';
import { withoutInheritance } from '../merge.ts';
import { serverName } from '../server-schema.ts';
import { type ReadBytes, noShippedFiles } from '../shipped.ts';
import { type SourceNode, isNull, valueOf } from '../source-map.ts';

/** Edits server entries in config files. All other text stays the same, byte for byte. */
export interface ConfigEditor {
  /**
   * Adds a server at the end, or replaces a `null` entry that removes an inherited server. Rejects with
   * HUB_CONFIG_CONFLICT if the file or one that it extends has a server of that name, and with the errors of
   * `setServer`.
   */
  addServer(file: string, name: string, entry: JsonObject): Promise<Config>;
  /**
   * Replaces the entry of a server in this file. Rejects with HUB_SERVER_UNKNOWN if the file has no such entry,
   * HUB_CONFIG_INVALID if the resulting config is invalid, HUB_CONFIG_CONFLICT if another program writes the file at
   * the same time, and HUB_CONFIG_UNWRITABLE if the file cannot be written.
   */
  setServer(file: string, name: string, entry: JsonObject): Promise<Config>;
  /**
   * Removes a server. For a server of a file in `extends`, writes `null` to this file and leaves the other file
   * unchanged. Rejects with the errors of `setServer`.
   */
  removeServer(file: string, name: string): Promise<Config>;
  /**
   * Returns the server that `addServer` would add, without writing anything. Rejects with the errors of `addServer`.
   */
  preview(file: string, name: string, entry: JsonObject): Promise<ServerConfig>;
}

export type ConfigEditorNeeds = {
  /** Reads the current environment, to validate the edited config with it. */
  readonly readOptions: () => Promise<LoadOptions>;
  /** Replaces the default file reader. */
  readonly readBytes?: ReadBytes | undefined;
  /**
   * Replaces a file atomically. Awaits `check` right before the rename and rejects with what it throws. Rejects with
   * the system's error if the write fails, and leaves no temporary file behind.
   */
  readonly writeWhole: (file: string, text: string, check: () => Promise<void>) => Promise<void>;
};

/** Maximum number of queued edits. */
const maxWaiting = 100;
/** Attempts per edit. If another program wrote the file meanwhile, the edit is repeated once. */
const attempts = 2;

/** An edit of one server's entry. */
type Change = {
  readonly name: string;
  readonly kind: 'add' | 'set' | 'remove';
  readonly entry: JsonObject | undefined;
};

/** Creates an editor that runs edits one after another, each on the result of the one before. */
export function createConfigEditor(needs: ConfigEditorNeeds): ConfigEditor {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function edit(file: string, change: Change): Promise<Config> {
    if (waiting >= maxWaiting)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `${file}: ${maxWaiting} changes to it are already waiting. Try again later`,
        { data: { retryable: true } },
      );
    waiting++;
    const result = last.then(() => editNow(file, change, needs)).finally(() => waiting--);
    last = result.catch(() => {}); // Its caller gets the error.
    return await result;
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

/** Thrown by the check if the file changed since it was read. */
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
          `${file}: another program is writing it, so nothing was changed. Try again when that is done`,
          { data: { retryable: true } },
        );
    }
  }
}

/** Computes the new text and the config that results from it, before anything is written. */
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
  // Loaded on demand: most hubs never write their config.
  const { editableText } = await import('./text.ts');
  const editable = await editableText(text, format);
  const inheritance = inherited.get(name);
  const below = inheritance?.location.source.file;
  const exists = editable.has(name);
  const isRemoved = ['servers', 'mcpServers']
    .map(form => valueOf(valueOf(root, form), name))
    .some(value => value !== undefined && isNull(value));
  if (kind === 'add' && !isRemoved && (exists || below !== undefined))
    throw nameTaken(file, name, below);
  if (kind !== 'add' && !exists && (kind === 'set' || below === undefined))
    throw serverUnknown(file, name, below);
  const next = newEntryOf(change, inheritance?.value);
  const edited = editable.with(name, next);
  if (edited === undefined) throw uneditable(file);
  const after = await readConfig(file, { ...options, readText: withText(file, edited) });
  if (after.error) throw after.error;
  const isThere = after.config.servers.some(server => server.name === name);
  const isOnly = !before.config || affectsOnly(diffConfigs(before.config, after.config), name);
  if (isThere !== (kind !== 'remove') || !isOnly) throw uneditable(file);
  return { text: edited, config: after.config };
}

/** The new value of the server's entry in this file. */
function newEntryOf({ kind, entry }: Change, below: SourceNode | undefined) {
  if (kind === 'remove') return below && null;
  return kind === 'add' && entry && below ? withoutInheritance(entry, below) : entry;
}

/**
 * True if the edit affects only this server. Editing a YAML anchor would also change the servers that refer to it.
 */
function affectsOnly({ added, removed, changed, naming }: Difference, name: string): boolean {
  const names = [...added, ...removed, ...changed.map(({ after }) => after)];
  return !naming && names.every(server => server.name === name);
}

const withText =
  (file: string, text: string): ReadText =>
  async path =>
    path === resolve(file) ? text : await readText(path);

/** Reads a UTF-8 file. Rejects other encodings, because writing the text back would change bytes. */
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

const nameTaken = (file: string, name: string, below: string | undefined) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: there is a server "${name}" already${below === undefined ? '' : `, in ${below}, which it extends`}. Choose another name, or remove that one ${below === undefined ? 'first' : 'there'}`,
  );

const serverUnknown = (file: string, name: string, below: string | undefined) =>
  new HubError(
    'HUB_SERVER_UNKNOWN',
    `${file}: it has no server ${JSON.stringify(name)}${below === undefined ? '' : `, which is in ${below}: change it there`}`,
    { data: { server: name } },
  );

const uneditable = (file: string) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: its syntax (anchors, aliases or unusual YAML) does not allow changing one server without others. Edit it by hand`,
  );

const remedies = new Map([
  ['ENOSPC', 'the disk is full. Make room on it'],
  ['EDQUOT', "this user's disk quota is used up. Make room on it"],
  ['EROFS', 'its file system is read-only. Mount its folder writable'],
  ['EACCES', 'this user may not write to its folder. Grant write permission'],
  ['EPERM', 'this user may not replace it. Grant write permission'],
  // Writing in place is no alternative: if the hub crashed meanwhile, half a file would remain.
  ['EBUSY', 'it is a mounted file, which cannot be replaced. Mount its folder instead of the file'],
  ['EXDEV', 'it is a mounted file. Mount its folder instead of the file'],
]);

/** The error for a file that could not be replaced, with a remedy. */
export function unwritable(file: string, error: unknown): HubError {
  if (error instanceof HubError) return error;
  const remedy =
    remedies.get(String(codeOf(error))) ?? `${messageOf(error)}. Fix that, or name another file`;
  return new HubError(
    'HUB_CONFIG_UNWRITABLE',
    `${file} cannot be written and is unchanged: ${remedy}`,
    { cause: error },
  );
}
