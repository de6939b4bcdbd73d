import { HubError } from '#core';
import type { Repositories } from '#repositories';
import type { NoteVault } from './vault-types.ts';

type OpenFolder = Awaited<ReturnType<Repositories['openFolder']>>;

/** Maximum size of a note in bytes. A longer note was not written by the hub. */
const maxNoteBytes = 4 * 2 ** 20;
/** File that is written and removed before a run, to test access. Obsidian does not show it. */
const probe = '.agenthub-probe';

/**
 * Opens a folder as a vault. Rejects with HUB_VAULT_UNKNOWN if Obsidian has never opened it, unless `isForced`, and
 * with HUB_GIT_FAILED or HUB_PATH_REFUSED if `target`, a folder in it, is not writable.
 */
export async function openFolderVault(
  folder: OpenFolder,
  { isForced, target }: { readonly isForced: boolean; readonly target: string | undefined },
  signal: AbortSignal,
): Promise<NoteVault> {
  if (!isForced && !(await folder.folders(signal)).includes('.obsidian'))
    throw new HubError(
      'HUB_VAULT_UNKNOWN',
      `vault: ${JSON.stringify(folder.root)} has no folder .obsidian, so it is not a vault. Name the folder that Obsidian has opened, or write there anyway with --force, over HTTP and MCP with "force": true`,
    );
  if (target !== undefined) {
    // The probe is written into the folder only if it has files: an empty folder is removed with its last file.
    const isInUse = (await folder.list(signal)).some(path => path.startsWith(`${target}/`));
    const path = isInUse ? `${target}/${probe}` : probe;
    await folder.write([{ path, content: '' }], signal);
    await folder.remove([path], signal);
  }
  return {
    place: folder.root,
    async list(inside, ending) {
      const files = await folder.list(ending);
      return files.filter(path => path.startsWith(`${inside}/`) && path.endsWith('.md'));
    },
    read: async (path, ending) => (await folder.read(path, maxNoteBytes, ending))?.toString(),
    write: async (notes, ending) =>
      await folder.write(
        notes.map(({ path, text }) => ({ path, content: text })),
        ending,
      ),
    remove: async (path, ending) => await folder.remove([path], ending),
    [Symbol.asyncDispose]: async () => await folder[Symbol.asyncDispose](),
  };
}
