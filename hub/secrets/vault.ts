import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { HubError, errorCodeOf, isSqliteBusy, messageOf, tryParseJson } from '#core';
import { type VaultKeyNeeds, createVaultKey } from './vault-key.ts';

const base64 = z.base64();
/** A secret in AES-256-GCM: `nonce` has 12 bytes, `data` ends with the 16-byte tag. Its name is additional data. */
const sealed = z.strictObject({ nonce: base64, data: base64 });

/** Version 1 of the file format. Any change of the format needs another version. */
const format = z.strictObject({
  version: z.literal(1),
  /** Distinguishes the keychain entries of this file from those of other files. */
  scope: z.string().regex(/^[0-9a-f]{16}$/),
  /** Names of the secrets in the keychain, which has no list function. */
  keychain: z.array(z.string()),
  /** Undefined until a secret is stored in the file. */
  key: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('file') }),
      z.strictObject({ kind: z.literal('passphrase'), salt: base64 }),
    ])
    .optional(),
  secrets: z.record(z.string(), sealed),
});

/** The content of the encrypted file. */
export type VaultContent = Readonly<z.output<typeof format>>;

export type VaultNeeds = VaultKeyNeeds & {
  /** Path of the encrypted file. Its lock file is next to it. */
  readonly file: string;
};

/**
 * Returns the new content and a result for the caller. `save` writes intermediate content that must survive if the
 * process ends early.
 */
type Change<T> = (
  content: VaultContent,
  save: (content: VaultContent) => Promise<void>,
) => Promise<{ readonly content: VaultContent; readonly result: T }>;

const algorithm = 'aes-256-gcm';
const tagBytes = 16;
/** Maximum time in ms that a writer waits for another one. */
const lockMs = 10_000;

/** Creates access to the encrypted file of secrets. */
export function createVault(needs: VaultNeeds) {
  const { file, writeWhole } = needs;
  const vaultKey = createVaultKey(needs);
  let last: Promise<unknown> = Promise.resolve();

  const readText = async (): Promise<string | undefined> =>
    await readFile(file, 'utf8').catch((cause: unknown) => {
      if (errorCodeOf(cause) === 'ENOENT') return undefined;
      throw invalid(`${file} cannot be read (${messageOf(cause)})`, cause);
    });

  function parse(text: string | undefined): VaultContent {
    if (text === undefined)
      return { version: 1, scope: randomBytes(8).toString('hex'), keychain: [], secrets: {} };
    const value = tryParseJson(text);
    const { data, error } = format.safeParse(value);
    if (data) return data;
    const [issue] = error.issues;
    const place = issue && issue.path.length > 0 ? ` at ${issue.path.join('.')}` : '';
    throw invalid(
      `${file} is damaged${place}, and was left as it is. Restore it from a backup, or remove it and set its secrets again`,
      error,
    );
  }

  /** Runs a change under a lock, a SQLite transaction: the system releases it however the process ends. */
  async function underLock<T>(change: Change<T>): Promise<T> {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    using _lock = await lockFile(`${file}.lock`);
    let text = await readText();
    const before = parse(text);
    const save = async (content: VaultContent) => {
      const next = `${JSON.stringify(content, undefined, 2)}\n`;
      await writeWhole(file, next, async () => {
        if ((await readText()) !== text) throw replaced(file);
      });
      text = next;
    };
    const { content, result } = await change(before, save);
    if (content !== before) await save(content);
    return result;
  }

  return {
    /** Reads the file. Rejects with HUB_CONFIG_INVALID if the file is damaged. */
    read: async () => parse(await readText()),
    /** Decrypts a secret. Rejects with HUB_CONFIG_INVALID if the key is unavailable, or the secret was modified. */
    async open({ key, secrets }: VaultContent, name: string): Promise<string> {
      const entry = secrets[name];
      if (!entry || !key) throw invalid(`${file} does not contain ${name} and its key`);
      const bytes = await vaultKey.open(key);
      try {
        return decrypt(bytes, name, entry);
      } catch (cause) {
        const other = key.kind === 'file' ? 'the key file' : 'the passphrase';
        throw invalid(
          `${file} was changed, or ${other} is not the one it was written with. Correct that, or run agenthub secret set ${name}`,
          cause,
        );
      }
    },
    /** Returns the content with an added secret. Rejects with HUB_CONFIG_INVALID if other secrets have another key. */
    async seal(content: VaultContent, name: string, value: string): Promise<VaultContent> {
      const key = content.key ?? (await vaultKey.create());
      const bytes = await vaultKey.open(key);
      const [known] = Object.entries(content.secrets).filter(([other]) => other !== name);
      if (known && !isDecryptable(bytes, ...known))
        throw invalid(
          `${file} was written with another ${key.kind === 'file' ? 'key file' : 'passphrase'}: nothing was changed. Use that one, or first give up what it protects: agenthub secret remove ${known[0]}`,
        );
      const secrets = { ...content.secrets, [name]: encrypt(bytes, name, value) };
      return { ...content, key, secrets };
    },
    /**
     * Changes the file. Changes run one after the other, across all processes. Rejects with HUB_CONFIG_UNWRITABLE if the
     * file cannot be written.
     */
    async change<T>(apply: Change<T>): Promise<T> {
      const result = last
        .then(async () => await underLock(apply))
        .catch((error: unknown) => {
          throw unwritable(file, error);
        });
      last = result.catch(() => undefined); // The caller of `change` gets the error.
      return await result;
    },
  };
}

async function lockFile(file: string): Promise<DatabaseSync> {
  // Private, because any user who can read the file could also lock it.
  await (await open(file, 'a', 0o600)).close();
  using undo = new DisposableStack();
  const lock = undo.use(new DatabaseSync(file, { timeout: lockMs }));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    // Other errors of SQLite are those of the disk.
    if (!isSqliteBusy(cause)) throw cause;
    const why = 'another process is changing the secrets. Try again when that is done';
    throw new HubError('HUB_CONFIG_CONFLICT', `${file}: ${why} (${messageOf(cause)})`, { cause });
  }
  undo.move();
  return lock;
}

/** Returns the error for a file that could not be written, if the system reported an error. */
function unwritable(file: string, cause: unknown): unknown {
  if (cause instanceof HubError || errorCodeOf(cause) === undefined) return cause;
  const message = `${file} cannot be written and is unchanged: ${messageOf(cause)}. Make room on its disk and let this user write it, or set DATA_DIR to another folder`;
  return new HubError('HUB_CONFIG_UNWRITABLE', message, { cause });
}

/** A program that does not use the lock, such as one that restores a backup, has written the file during a change. */
const replaced = (file: string) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: another program has replaced it meanwhile, so it was not changed. Try again`,
  );

const aad = (name: string) => Buffer.from(`agenthub secret v1 ${name}`);

function encrypt(key: Buffer, name: string, value: string) {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(aad(name));
  const data = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { nonce: nonce.toString('base64'), data: data.toString('base64') };
}

function decrypt(key: Buffer, name: string, { nonce, data }: z.output<typeof sealed>): string {
  const bytes = Buffer.from(data, 'base64');
  const options = { authTagLength: tagBytes };
  const decipher = createDecipheriv(algorithm, key, Buffer.from(nonce, 'base64'), options);
  decipher.setAAD(aad(name)).setAuthTag(bytes.subarray(-tagBytes));
  return Buffer.concat([
    decipher.update(bytes.subarray(0, -tagBytes)),
    decipher.final(),
  ]).toString();
}

function isDecryptable(key: Buffer, name: string, entry: z.output<typeof sealed>): boolean {
  try {
    decrypt(key, name, entry);
    return true;
  } catch {
    return false; // Another key, or the data was modified.
  }
}

const invalid = (message: string, cause?: unknown) =>
  new HubError('HUB_CONFIG_INVALID', message, { cause });
