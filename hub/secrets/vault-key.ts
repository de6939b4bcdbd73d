import { type BinaryLike, createHash, randomBytes, scrypt } from 'node:crypto';
import { lstat, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { HubError, errorCodeOf, shellWord } from '#core';

/** Parameters of scrypt, which are part of the file format. They require 32 MB of memory. */
const scryptCost = { N: 32_768, r: 8, p: 3 } as const;

/** Where the key of the encrypted file comes from. */
type KeySource =
  | { readonly kind: 'file' }
  /** `salt` is base64. */
  | { readonly kind: 'passphrase'; readonly salt: string };

export type VaultKeyNeeds = {
  readonly keyFile: string;
  /** Resolves with the passphrase. Undefined: the key is in `keyFile`. */
  readonly readPassphrase: () => Promise<string | undefined>;
  /** Replaces a file. Awaits `check` right before, and leaves the file as it was if `check` rejects. */
  readonly writeWhole: (file: string, text: string, check?: () => Promise<void>) => Promise<void>;
};

const keyBytes = 32;
const derive = promisify<
  BinaryLike,
  BinaryLike,
  number,
  { N: number; r: number; p: number; maxmem: number },
  Buffer
>(scrypt);

/** Creates access to the key of the encrypted file: in a private file, or derived from a passphrase. */
export function createVaultKey({ keyFile, readPassphrase, writeWhole }: VaultKeyNeeds) {
  /** The last derived key. Cached, because deriving it takes 0.1 s. */
  let derived: { readonly from: string; readonly key: Buffer } | undefined;

  async function fromPassphrase(salt: string): Promise<Buffer> {
    const passphrase = await readPassphrase();
    if (passphrase === undefined)
      throw invalid(
        'the secrets are protected by a passphrase. Set AGENTHUB_PASSPHRASE, or AGENTHUB_PASSPHRASE_FILE to a file that contains it',
      );
    const from = createHash('sha256').update(`${salt} ${passphrase}`).digest('hex');
    if (derived?.from !== from) {
      const options = { ...scryptCost, maxmem: 64 * 2 ** 20 };
      const key = await derive(passphrase, Buffer.from(salt, 'base64'), keyBytes, options);
      derived = { from, key };
    }
    return derived.key;
  }

  async function fromFile(): Promise<Buffer> {
    await checkPermissions(keyFile);
    const key = Buffer.from((await readFile(keyFile, 'latin1')).trim(), 'base64url');
    if (key.length === keyBytes) return key;
    throw invalid(`${keyFile} does not contain a key. Restore it from a backup`);
  }

  return {
    /** Returns the key. Rejects with HUB_CONFIG_INVALID if the key is missing, or other users can read its file. */
    open: async (source: KeySource) =>
      source.kind === 'file' ? await fromFile() : await fromPassphrase(source.salt),
    /** Chooses the key source of a new encrypted file, and creates the key file unless it exists. */
    async create(): Promise<KeySource> {
      if ((await readPassphrase()) !== undefined)
        return { kind: 'passphrase', salt: randomBytes(16).toString('base64') };
      if (!(await isPresent(keyFile)))
        await writeWhole(keyFile, `${randomBytes(keyBytes).toString('base64url')}\n`);
      return { kind: 'file' };
    },
  };
}

const invalid = (message: string, cause?: unknown) =>
  new HubError('HUB_CONFIG_INVALID', message, { cause });

const isPresent = async (file: string) =>
  await lstat(file).then(
    () => true,
    () => false,
  );

/** Checks that only this user can read the key file. Skipped on Windows, where the folder's permissions protect it. */
async function checkPermissions(file: string): Promise<void> {
  const stats = await lstat(file).catch((cause: unknown) => {
    if (errorCodeOf(cause) !== 'ENOENT') throw cause;
    throw invalid(
      `${file}, the key of the secrets, is missing. Restore it from a backup, or remove the secrets file beside it and set its secrets again`,
      cause,
    );
  });
  if (!stats.isFile())
    throw invalid(`${file} is not a regular file. Restore the key of the secrets`);
  const uid = process.geteuid?.();
  if (uid === undefined) return;
  if (stats.uid !== uid && uid !== 0)
    throw invalid(
      `${file} belongs to user ${stats.uid}, and this process runs as ${uid}. Run it as that user`,
    );
  if ((stats.mode & 0o077) !== 0)
    throw invalid(
      `other users can read ${file} (mode ${(stats.mode & 0o777).toString(8)}). Run: chmod 600 ${shellWord(file)}`,
    );
}
