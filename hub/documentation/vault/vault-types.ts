/** Where notes are written. Paths are relative to the vault, with `/`. */
export interface NoteVault extends AsyncDisposable {
  /** The vault as people know it, such as the path of its folder. */
  readonly place: string;
  /** Paths of the notes in a folder; empty if there is no such folder. */
  list(folder: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Undefined if there is no such note. */
  read(path: string, signal: AbortSignal): Promise<string | undefined>;
  /** Creates or replaces whole notes. */
  write(notes: readonly VaultNote[], signal: AbortSignal): Promise<void>;
  remove(path: string, signal: AbortSignal): Promise<void>;
}

export type VaultNote = { readonly path: string; readonly text: string };
