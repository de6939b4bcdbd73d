import { isUtf8 } from 'node:buffer';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCodeOf, messageOf } from '#core';

/** A secret in a file: its `value`, or `why` the file cannot be read. */
type MountedSecret = { readonly file: string } & (
  | { readonly value: string }
  | { readonly why: string }
);

/**
 * Reads secrets that the machine provides as files: `NAME` in a folder (Docker mounts secrets in `/run/secrets`), or
 * the file named by the variable `NAME_FILE`. Ignores one line break at the end.
 */
export function createMountedSecrets(
  folder: string,
  readEnvironment: () => Promise<Readonly<Record<string, string | undefined>>>,
) {
  async function read(file: string): Promise<MountedSecret | undefined> {
    try {
      const bytes = await readFile(file);
      if (!isUtf8(bytes)) return { file, why: `${file} is not UTF-8. Save it as UTF-8` };
      const value = bytes.toString().replace(/\r?\n$/, '');
      return value === '' ? { file, why: `${file} is empty` } : { file, value };
    } catch (error) {
      return isAbsent(error)
        ? undefined
        : { file, why: `${file} cannot be read (${messageOf(error)})` };
    }
  }

  return {
    /** Reads a secret; undefined if it has no file. */
    async find(name: string): Promise<MountedSecret | undefined> {
      const mounted = await read(join(folder, name));
      if (mounted) return mounted;
      const env = await readEnvironment();
      const file = Object.hasOwn(env, `${name}_FILE`) ? env[`${name}_FILE`] : undefined;
      if (!file) return undefined;
      const missing = `${name}_FILE names ${file}, and there is no such file`;
      return (await read(file)) ?? { file, why: missing };
    },
    /** Returns the file names in the folder; none if it cannot be listed. */
    async names(): Promise<readonly string[]> {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []); // Most machines do not have this folder.
      return entries.filter(entry => !entry.isDirectory()).map(({ name }) => name);
    },
  };
}

const isAbsent = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(String(errorCodeOf(error)));
