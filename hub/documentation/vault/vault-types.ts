/** A vault for notes. Paths are relative to the vault, with `/`. */
export interface NoteVault extends AsyncDisposable {
  /** Vault as shown to users, such as the path of its folder. */
  readonly place: string;
  /** Lists the paths of the notes in a folder; empty if the folder does not exist. */
  list(folder: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Reads a note; undefined if it does not exist. */
  read(path: string, signal: AbortSignal): Promise<string | undefined>;
  /** Writes notes. Existing notes are replaced completely. */
  write(notes: readonly VaultNote[], signal: AbortSignal): Promise<void>;
  remove(path: string, signal: AbortSignal): Promise<void>;
}

export type VaultNote = { readonly path: string; readonly text: string };
