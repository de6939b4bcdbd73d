import { open, readFile, rename } from 'node:fs/promises';
import { isCode } from './key-file.ts';
import { syncFolder } from './write-whole.ts';

/** The file operations of a journal, so that a test can make each of them fail. */
export interface JournalDisk {
  /** Undefined where there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** Opens a file for writing and creates it when absent: `a` appends, `w` empties it first. */
  open(path: string, flags: 'a' | 'w'): Promise<JournalFile>;
  rename(from: string, to: string): Promise<void>;
  /** Makes the names in a folder survive a power failure, on file systems that need it. */
  syncFolder(path: string): Promise<void>;
}

export interface JournalFile {
  /** Writes all bytes at the end. May reject after it wrote some of them. */
  write(bytes: Buffer): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The file system of this machine. New files are readable by this user only. */
export const systemDisk: JournalDisk = {
  async read(path) {
    try {
      return await readFile(path);
    } catch (error) {
      if (isCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  },
  async open(path, flags) {
    const handle = await open(path, flags, 0o600);
    return {
      write: bytes => handle.writeFile(bytes),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  rename,
  syncFolder,
};
