import { HubError } from '#core';
import type { Repositories } from '#repositories';
import type { NoteVault } from './vault-types.ts';

type OpenFolder = Awaited<ReturnType<Repositories['openFolder']>>;

/** A longer note is none of the hub. */
const maxNoteBytes = 4 * 2 ** 20;
/** Written and removed again before a run. Obsidian does not show it. */
const probe = '.agenthub-probe';

/**
 * Opens a vault that is a folder. Rejects with HUB_VAULT_UNKNOWN for one that Obsidian has not opened, unless forced, and with
 * HUB_GIT_FAILED or HUB_PATH_REFUSED if notes cannot be written into `target`, a folder in it.
 */
export async function openFolderVault(
  folder: OpenFolder,
  { isForced, target }: { readonly isForced: boolean; readonly target: string | undefined },
  signal: AbortSignal,
): Promise<NoteVault> {
  if (!isForced && !(await folder.folders(signal)).includes('.obsidian'))
    throw new HubError(
      'HUB_VAULT_UNKNOWN',
      `vault: ${JSON.stringify(folder.root)} has no folder .obsidian, so it is no vault. Name the folder that Obsidian has opened, or set "force": true to write there anyway`,
    );
  if (target !== undefined) {
    // An empty folder would be removed with its only file.
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
