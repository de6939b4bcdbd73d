import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#core';
import { createSecrets } from '#secrets';
import { writeWhole } from '#store';

type Needs = Parameters<typeof createSecrets>[1];

type Wanted = {
  readonly env?: Readonly<Record<string, string>>;
  readonly passphrase?: string;
  readonly keyFile?: string;
  readonly load?: Needs['load'];
  readonly write?: Needs['writeWhole'];
};

/** Creates a data folder. `open` opens the secrets in it, without a keychain unless `load` is given. */
export async function secretsFolder() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-secrets-'));
  const { path } = folder;
  const file = join(path, 'data', 'secrets.json');
  const usualKeyFile = join(path, 'data', 'secrets.key');
  const mounted = join(path, 'mounted');
  const noKeychain = () => Promise.reject(new Error('there is no module'));
  const open = ({
    env = {},
    passphrase,
    keyFile = usualKeyFile,
    load = noKeychain,
    write = writeWhole,
  }: Wanted = {}) =>
    createSecrets(
      { mountedFolder: mounted, readEnvironment: async () => env },
      {
        file,
        keyFile,
        readPassphrase: async () => passphrase,
        writeWhole: write,
        clock: systemClock,
        load,
      },
    );
  return {
    path,
    file,
    keyFile: usualKeyFile,
    mounted,
    open,
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}
