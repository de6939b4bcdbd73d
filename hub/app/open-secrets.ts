import { join, resolve } from 'node:path';
import { type Environment, dataDirOf, readValueOrFile, secretsFolderOf } from '#config';
import { systemClock } from '#core';
import type { Secrets } from '#secrets';

/**
 * Gives access to the secrets in the hub's data folder. Loads the code with the first secret: most configs have none.
 */
export function createSecretsAccess(readEnvironment: () => Promise<Environment>) {
  let opening: Promise<Secrets> | undefined;
  let opened: Secrets | undefined;

  async function load(): Promise<Secrets> {
    const { createSecrets, loadKeyring } = await import('#secrets');
    const { writeWhole } = await import('#store');
    const env = await readEnvironment();
    const folder = resolve(dataDirOf(env));
    opened = createSecrets(
      { mountedFolder: secretsFolderOf(env), readEnvironment },
      {
        file: join(folder, 'secrets.json'),
        keyFile: join(folder, 'secrets.key'),
        readPassphrase: async () =>
          await readValueOrFile(await readEnvironment(), 'AGENTHUB_PASSPHRASE'),
        writeWhole,
        clock: systemClock,
        load: loadKeyring,
      },
    );
    return opened;
  }

  const open = async () => await (opening ??= load());
  return {
    open,
    read: async (names: readonly string[]) => await (await open()).read(names),
    /** Returns every value that was read. The array is a new one after each change. */
    known: (): readonly string[] => opened?.known() ?? none,
  };
}

const none: readonly string[] = [];
