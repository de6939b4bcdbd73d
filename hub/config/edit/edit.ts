import { HubError, type JsonObject, errorCodeOf, messageOf, shown } from '#core';
import type { Config } from '../config.ts';
import { diffConfigs } from '../diff.ts';
import { parseText } from '../document.ts';
import { inheritedServer } from '../extends.ts';
import {
  type ReadBytes,
  encodingFault,
  readBytes,
  requireFormat,
  thisUser,
  unreadable,
} from '../files.ts';
import { readConfig } from '../load.ts';
import { forms, withoutInheritance } from '../merge.ts';
import type { ServerConfig } from '../normalize.ts';
import {
  type EditNeeds,
  type Edited,
  affectsOnly,
  refusedEdit,
  serverUnknown,
  uneditable,
  withText,
} from './edited.ts';
import type { NextTools } from './tools.ts';
import { isNull, valueOf } from '../source-map.ts';

type Needs = EditNeeds & {
  readonly readBytes?: ReadBytes | undefined;
  /** Replaces a file atomically, or rejects and leaves it unchanged. Awaits `check` right before the rename. */
  readonly writeWhole: (file: string, text: string, check: () => Promise<void>) => Promise<void>;
};

const maxWaiting = 100;
/** Attempts per edit: an edit is repeated if another program, such as another command, wrote the file meanwhile. */
const attempts = 10;

/** A server to add; without an entry, a server to remove. */
type Change = { readonly name: string; readonly entry?: JsonObject };

/** Computes an edit of a text without writing it. Rejects with HubError if the edit is not possible. */
type Prepare = (text: string) => Promise<Edited>;

export type ConfigEditor = ReturnType<typeof createConfigEditor>;

/** Creates an editor of the server entries in config files, which keeps all other text. Edits run one after another. */
export function createConfigEditor(needs: Needs) {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  async function edit(file: string, prepareEdit: Prepare): Promise<Config> {
    if (waiting >= maxWaiting)
      throw busy(file, `${maxWaiting} changes to it are already waiting. Try again later`);
    waiting++;
    const result = last.then(() => editNow(file, prepareEdit, needs)).finally(() => waiting--);
    last = result.catch(() => {}); // The caller of this edit gets the error.
    return await result;
  }

  const change = (file: string, wanted: Change) =>
    edit(file, text => prepare(file, text, wanted, needs));

  return {
    /**
     * Adds a server at the end, or replaces a `null` entry that removes an inherited server. Rejects with
     * HUB_CONFIG_INVALID if the resulting config is invalid, HUB_CONFIG_CONFLICT if there is a server of that name or
     * another program writes the file at the same time, and HUB_CONFIG_UNWRITABLE if the file cannot be written.
     */
    addServer: (file: string, name: string, entry: JsonObject) => change(file, { name, entry }),
    /**
     * Removes a server. If a file in `extends` defines it, writes `null` as its entry in this file. Rejects with
     * HUB_SERVER_UNKNOWN if there is no such server, and otherwise like `addServer`.
     */
    removeServer: (file: string, name: string) => change(file, { name }),
    /**
     * Changes which tools a server offers: `tools.allow` and `tools.deny`. `next` returns the new lists, or throws
     * HubError. Rejects with HUB_SERVER_UNKNOWN if there is no such server, and otherwise like `addServer`.
     */
    changeTools: (file: string, name: string, next: NextTools) =>
      edit(file, async text => {
        const { prepareTools } = await import('./tools.ts');
        return await prepareTools({ file, text, name, next }, needs);
      }),
    /**
     * Replaces values of keys in a server's entry in this file. Rejects with HUB_CONFIG_CONFLICT if the entry lacks one
     * of the keys, and otherwise like `removeServer`.
     */
    setValues: (file: string, name: string, values: JsonObject) =>
      edit(file, async text => {
        const { prepareValues } = await import('./values.ts');
        return await prepareValues({ file, text, name, values }, needs);
      }),
    /** Returns the server as `setValues` would leave it, without writing. Rejects with the errors of `setValues`. */
    previewValues: async (file: string, name: string, values: JsonObject) => {
      const { prepareValues } = await import('./values.ts');
      const text = await readExactly(file, needs);
      return serverOf(await prepareValues({ file, text, name, values }, needs), name, file);
    },
    /**
     * Returns the entry of a server in the file itself, with its variables unexpanded; undefined if the file has none.
     */
    findEntry: async (file: string, name: string): Promise<JsonObject | undefined> => {
      const { findEntry } = await import('./values.ts');
      return await findEntry(file, await readExactly(file, needs), name);
    },
    /** Returns the server that `addServer` would add, without writing. Rejects with the errors of `addServer`. */
    preview: async (file: string, name: string, entry: JsonObject) => {
      const text = await readExactly(file, needs);
      return serverOf(await prepare(file, text, { name, entry }, needs), name, file);
    },
  };
}

function serverOf({ config }: Edited, name: string, file: string): ServerConfig {
  const found = config.servers.find(server => server.name === name);
  if (!found) throw uneditable(file);
  return found;
}

/** Thrown right before a write if the file has changed since it was read. */
class Overtaken extends Error {}

async function editNow(file: string, prepareEdit: Prepare, needs: Needs): Promise<Config> {
  for (let attempt = 1; ; attempt++) {
    const text = await readExactly(file, needs);
    const { text: edited, config } = await prepareEdit(text);
    try {
      await needs.writeWhole(file, edited, async () => {
        if ((await readExactly(file, needs)) !== text) throw new Overtaken();
      });
      return config;
    } catch (error) {
      if (!(error instanceof Overtaken)) throw unwritable(file, error);
      if (attempt === attempts) throw busy(file, writtenByOther);
    }
  }
}

const writtenByOther =
  'another program is writing it, so nothing was changed. Try again when that is done';

const busy = (file: string, why: string) =>
  new HubError('HUB_CONFIG_CONFLICT', `${file}: ${why}`, { data: { retryable: true } });

/** Computes the new text and the config that results from it, before anything is written. */
async function prepare(
  file: string,
  text: string,
  { name, entry }: Change,
  needs: Needs,
): Promise<Edited> {
  const format = requireFormat(file);
  // Loaded on demand: most commands never write the config.
  const { serverName } = await import('../server-schema.ts');
  const named = serverName.safeParse(name);
  if (entry && named.error)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `name: ${shown(name)} is not allowed: ${named.error.issues[0]?.message ?? ''}`,
    );
  const options = await needs.readOptions();
  const current = { ...options, readText: withText(file, text) };
  const before = await readConfig(file, current);
  const { root } = await parseText({ file, text: text.replace(/^\uFEFF/, '') }, format);
  if (before.error && !root) throw before.error;
  const inherited = await inheritedServer(file, name, current);
  // Loaded on demand: most hubs never write their config.
  const { editableText } = await import('./text.ts');
  const editable = await editableText(text, format);
  const below = inherited?.source.file;
  const exists = editable.has(name);
  const isRemoved = forms
    .map(form => valueOf(valueOf(root, form), name))
    .some(value => value !== undefined && isNull(value));
  if (entry && !isRemoved && (exists || below !== undefined)) throw nameTaken(file, name, below);
  // `null` in this file has removed a server of another file already.
  const isThere = below === undefined ? exists : !isRemoved;
  if (!entry && !isThere) throw serverUnknown(file, name);
  const edited = editable.with(
    name,
    entry && inherited ? withoutInheritance(entry, inherited) : (entry ?? (inherited && null)),
  );
  if (edited === undefined) throw before.error ?? uneditable(file);
  const parsed = await parseText({ file, text: edited.replace(/^\uFEFF/, '') }, format);
  // The edit may have removed the anchor of an alias. The parser's error would name a line of the unwritten text.
  if (!parsed.root) throw uneditable(file);
  const after = await readConfig(file, { ...options, readText: withText(file, edited) });
  if (after.error) throw refusedEdit(name, after.error, before.error);
  const isAfter = after.config.servers.some(server => server.name === name);
  const isOnly = !before.config || affectsOnly(diffConfigs(before.config, after.config), name);
  if (isAfter !== (entry !== undefined) || !isOnly) throw uneditable(file);
  return { text: edited, config: after.config };
}

/** Reads a UTF-8 file. Rejects other encodings, because writing the text back would change bytes. */
async function readExactly(file: string, { readBytes: read = readBytes }: Needs): Promise<string> {
  const bytes = await read(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const fault = encodingFault(bytes);
  if (fault !== undefined) throw new HubError('HUB_CONFIG_INVALID', `${file}: ${fault}`);
  return bytes.toString();
}

function nameTaken(file: string, name: string, below: string | undefined): HubError {
  const why =
    below === undefined
      ? 'already. Choose another name, or remove that one first'
      : `already, in ${below}, which it extends. Choose another name, or remove that one there`;
  return new HubError('HUB_CONFIG_CONFLICT', `${file}: there is a server "${name}" ${why}`);
}

const remedies = new Map([
  ['ENOSPC', 'the disk is full. Make room on it'],
  ['EDQUOT', "this user's disk quota is used up. Make room on it"],
  ['EROFS', 'its file system is read-only. Mount its folder writable'],
  ['EACCES', `this user may not write to its folder. Grant write permission to ${thisUser()}`],
  ['EPERM', 'this user may not replace it. Grant write permission'],
  // Writing in place is no alternative: if the hub crashed meanwhile, half a file would remain.
  ['EBUSY', 'it is a mounted file, which cannot be replaced. Mount its folder instead of the file'],
  ['EXDEV', 'it is a mounted file. Mount its folder instead of the file'],
]);

/** Returns why a file could not be replaced, with a remedy. */
export const whyUnwritable = (error: unknown): string =>
  remedies.get(String(errorCodeOf(error))) ?? `${messageOf(error)}. Fix that, or name another file`;

/** Returns the error for a file that could not be replaced. */
export function unwritable(file: string, error: unknown): HubError {
  if (error instanceof HubError) return error;
  const message = `${file} cannot be written and is unchanged: ${whyUnwritable(error)}`;
  return new HubError('HUB_CONFIG_UNWRITABLE', message, { cause: error });
}
