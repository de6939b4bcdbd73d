import { HubError, messageOf } from '#core';
import { type KeychainNeeds, createKeychain } from './keychain.ts';
import { createMountedSecrets } from './mounted.ts';
import { type VaultContent, type VaultNeeds, createVault } from './vault.ts';

/** The value of a secret, or a message that names the secret, the reason why it is unreadable, and the remedy. */
type SecretReading = { readonly value: string } | { readonly fault: string };

/** Stores that accept secrets. */
type SecretStore = 'keychain' | 'file';

type Found = { readonly source: SecretSource } & SecretReading;

/** Where a secret comes from. `mounted`: a file that the machine provides. */
type SecretSource = 'mounted' | SecretStore;

/** A place in the config that refers to a secret. */
type SecretUse = {
  readonly secret: string;
  /** Name of the server; undefined if the reference is outside of a server entry. */
  readonly server?: string;
  readonly path: string;
  /** True if the config has a default for an unset secret. */
  readonly hasDefault?: boolean;
};

/** Where a secret was stored. `why`: why the keychain could not be used, unless the caller chose the file. */
type Stored = { readonly store: SecretStore; readonly why: string | undefined };

/** Status of a secret, without its value. */
export type SecretStatus = {
  readonly name: string;
  readonly state: 'readable' | 'unreadable' | 'missing';
  /** Absent if the secret is not set. */
  readonly source?: SecretSource;
  /** Reason why the secret cannot be read. */
  readonly reason?: string;
  readonly used_by: readonly Omit<SecretUse, 'secret' | 'hasDefault'>[];
};

type SecretsOptions = {
  /** Folder of mounted secrets. */
  readonly mountedFolder: string;
  /** Reads the environment variables, which may include `NAME_FILE`. */
  readonly readEnvironment: () => Promise<Readonly<Record<string, string | undefined>>>;
};

/** Maximum number of values for redaction. Values of earlier configs are kept, as logs may be older than a reload. */
const maxKnown = 2_000;
const namePattern = /^[A-Za-z0-9_][\w.-]{0,127}$/;

/** The secrets of one data folder. */
export type Secrets = ReturnType<typeof createSecrets>;

/** Creates access to secrets. Searches mounted files first, then the keychain, then the encrypted file. */
export function createSecrets(
  { mountedFolder, readEnvironment }: SecretsOptions,
  needs: VaultNeeds & KeychainNeeds,
) {
  const mounted = createMountedSecrets(mountedFolder, readEnvironment);
  const vault = createVault(needs);
  const keychain = createKeychain(needs);
  let known: readonly string[] = [];
  /** Secret values of the hub by purpose, current and previous ones, as both may be in use. Not part of `known`. */
  const ofHub = new Map<string, readonly [now: readonly string[], before: readonly string[]]>();
  /** Cache of all known values. Undefined after a change. */
  let shown: readonly string[] | undefined;

  const failed = (name: string, source: SecretSource, why: string): Found => ({
    source,
    fault: `secret ${name} cannot be read: ${why}`,
  });

  async function findStored(name: string, content: VaultContent, get = keychain.get) {
    if (content.keychain.includes(name)) {
      const access = await get(serviceOf(content), name);
      if (access.state !== 'usable') {
        const next = access.state === 'locked' ? ', and run agenthub reload' : '';
        return failed(name, 'keychain', access.why + next);
      }
      if (access.result !== null) return { source: 'keychain' as const, value: access.result };
      const gone = `the keychain no longer contains it. Run agenthub secret set ${name}`;
      if (!Object.hasOwn(content.secrets, name)) return failed(name, 'keychain', gone);
    }
    if (!Object.hasOwn(content.secrets, name)) return undefined;
    try {
      return { source: 'file' as const, value: await vault.open(content, name) };
    } catch (error) {
      return failed(name, 'file', messageOf(error));
    }
  }

  /** Reads secrets by name; undefined for each that is not set. */
  async function findAll(names: readonly string[]) {
    let content: ReturnType<typeof vault.read> | undefined;
    let locked: Awaited<ReturnType<typeof keychain.get>> | undefined;
    /** Reads the keychain until it is locked: each later access would ask its user, or take 30 s, again. */
    const get: typeof keychain.get = async (service, name) => {
      const access = locked ?? (await keychain.get(service, name));
      if (access.state === 'locked') locked = access;
      return access;
    };
    const find = async (name: string): Promise<Found | undefined> => {
      const own = await mounted.find(name);
      if (own)
        return 'value' in own
          ? { source: 'mounted', value: own.value }
          : failed(name, 'mounted', own.why);
      try {
        return await findStored(name, await (content ??= vault.read()), get);
      } catch (error) {
        return failed(name, 'file', messageOf(error));
      }
    };
    const found = new Map<string, Found | undefined>();
    // Sequentially, so that a keychain asks its user once to unlock it.
    for (const name of names) found.set(name, await find(name));
    remember([...found.values()]);
    return found;
  }

  function remember(found: readonly (Found | undefined)[]): void {
    add(found.flatMap(one => (one && 'value' in one ? one.value : [])));
  }

  function add(values: readonly string[]): void {
    const added = values.filter(value => !known.includes(value));
    if (added.length === 0) return;
    known = [...new Set([...added, ...known])].slice(0, maxKnown);
    shown = undefined;
  }

  return {
    /** Path of the encrypted file. */
    file: needs.file,
    /** Reads secrets by name; those that are not set are absent. Never rejects. */
    async read(names: readonly string[]): Promise<ReadonlyMap<string, SecretReading>> {
      const found = await findAll(names);
      return new Map(Array.from(found).flatMap(([name, one]) => (one ? [[name, one]] : [])));
    },
    /** Returns all values that were read, for redaction. A new array after each change. */
    known: (): readonly string[] => (shown ??= [...new Set([...ofHub.values()].flat(2)), ...known]),
    /**
     * Lists all secrets that are set or used. An unreadable secret does not make it reject. Rejects with
     * HUB_CONFIG_INVALID for a damaged file if no use could report that.
     */
    async list(uses: readonly SecretUse[]): Promise<readonly SecretStatus[]> {
      const stored = await vault.read().then(namesIn, (error: unknown) => {
        if (uses.length === 0) throw error;
        return []; // The error is reported for each secret that is used.
      });
      const used = uses.map(({ secret }) => secret);
      const names = new Set([...used, ...(await mounted.names()), ...stored].filter(isName));
      const found = await findAll([...names].sort());
      return Array.from(found, ([name, one]) => {
        const own = uses.filter(({ secret }) => secret === name);
        const hasDefault = own.length > 0 && own.every(use => use.hasDefault);
        const reason = hasDefault ? 'not set: the config has a default' : notSet(name);
        return {
          name,
          ...(one ? statusOf(one) : { state: 'missing' as const, reason }),
          used_by: own.map(({ server, path }) => ({
            ...(server !== undefined && { server }),
            path,
          })),
        };
      });
    },
    /** Returns the names of stored secrets. Rejects with HUB_CONFIG_INVALID for a damaged file. */
    stored: async () => namesIn(await vault.read()),
    /** Stores a secret, by default in the keychain. Returns the store, and why it is not the keychain. */
    async set(name: string, value: string, wanted?: SecretStore): Promise<Stored> {
      requireName(name);
      return await store(name, value, wanted);
    },
    /** Throws HUB_USAGE if the name is not allowed for a secret. */
    requireName,
    /**
     * Deletes a secret from the keychain and the file. Resolves with false if neither has it. Rejects with
     * HUB_CONFIG_INVALID if the keychain has it but cannot be used.
     */
    async remove(name: string): Promise<boolean> {
      requireName(name);
      return await removeStored(name, why => {
        const remedy = `Try again where it can be used. To give up the value there: agenthub secret set ${name} --store file, and remove it then`;
        throw new HubError(
          'HUB_CONFIG_INVALID',
          `${name} is in the keychain, and ${why}: nothing was removed. ${remedy}`,
        );
      });
    },
    /** Secrets of the hub itself. Their names start with ".", so that configs and commands cannot name them. */
    own: {
      /** Reads a secret; undefined if it is not set. Rejects with HUB_CONFIG_INVALID if it cannot be read. */
      async read(name: string): Promise<string | undefined> {
        const found = await findStored(requireOwnName(name), await vault.read());
        if (found && 'fault' in found) throw new HubError('HUB_CONFIG_INVALID', found.fault);
        return found?.value;
      },
      async write(name: string, value: string): Promise<void> {
        await store(requireOwnName(name), value);
      },
      remove: async (name: string): Promise<boolean> => await removeStored(requireOwnName(name)),
      /** Redacts these values from now on, and still those of the previous call for the same purpose. */
      remember: (purpose: string, values: readonly string[]): void => {
        const [last = []] = ofHub.get(purpose) ?? [];
        if (values.length === last.length && values.every(value => last.includes(value))) return;
        ofHub.set(purpose, [values, last]);
        shown = undefined;
      },
    },
  };

  async function store(name: string, value: string, wanted?: SecretStore): Promise<Stored> {
    return await vault.change<Stored>(async (content, save) => {
      const probe = wanted === 'file' ? undefined : await keychain.probe(serviceOf(content));
      const why = probe && probe.state !== 'usable' ? probe.why : undefined;
      if (wanted === 'keychain' && why !== undefined)
        throw new HubError('HUB_CONFIG_INVALID', `${why}. Or write --store file`);
      if (probe?.state === 'usable')
        return { content: await keep(content, name, value), result: { store: 'keychain', why } };
      const sealed = await vault.seal(content, name, value);
      if (content.keychain.includes(name)) {
        // Written to the file first, so that the keychain or the file has the secret if the process ends in between.
        await save(sealed);
        // Deleted from the keychain, which takes precedence: an older value there would hide this one.
        await removeFromKeychain(content, name).catch(async (error: unknown) => {
          await save(content).catch(() => undefined); // If this fails too, the value in the keychain stays valid.
          throw error;
        });
      }
      return {
        content: { ...sealed, keychain: content.keychain.filter(other => other !== name) },
        result: { store: 'file', why },
      };
    });
  }

  async function removeStored(name: string, ifAbsent?: (why: string) => void): Promise<boolean> {
    return await vault.change(async content => {
      await removeFromKeychain(content, name, ifAbsent);
      const { [name]: _, ...secrets } = content.secrets;
      const others = content.keychain.filter(other => other !== name);
      const isStored =
        Object.hasOwn(content.secrets, name) || others.length < content.keychain.length;
      if (!isStored) return { content, result: false };
      return { content: { ...content, secrets, keychain: others }, result: true };
    });
  }

  /** Writes a secret to the keychain, and returns the content with its name. */
  async function keep(content: VaultContent, name: string, value: string): Promise<VaultContent> {
    const written = await keychain.set(serviceOf(content), name, value);
    if (written.state !== 'usable') throw new HubError('HUB_CONFIG_INVALID', written.why);
    const { [name]: _, ...secrets } = content.secrets;
    return { ...content, secrets, keychain: [...new Set([...content.keychain, name])] };
  }

  /** Deletes a secret from the keychain. `ifAbsent` is called with the reason if there is no keychain. */
  async function removeFromKeychain(
    content: VaultContent,
    name: string,
    ifAbsent?: (why: string) => void,
  ): Promise<void> {
    if (!content.keychain.includes(name)) return;
    const removed = await keychain.remove(serviceOf(content), name);
    if (removed.state === 'locked') throw new HubError('HUB_CONFIG_INVALID', removed.why);
    if (removed.state === 'absent') ifAbsent?.(removed.why);
  }
}

const statusOf = (found: Found) =>
  'value' in found
    ? { state: 'readable' as const, source: found.source }
    : { state: 'unreadable' as const, source: found.source, reason: found.fault };

const namesIn = ({ keychain, secrets }: VaultContent) =>
  [...keychain, ...Object.keys(secrets)].filter(isName);

const serviceOf = ({ scope }: { readonly scope: string }) => `agenthub-${scope}`;

/** True if a name is allowed. `__proto__` cannot be a key in the file: it could be written, but not read back. */
const isName = (name: string) => namePattern.test(name) && name !== '__proto__';

/** Returns the name of a secret of the hub. `isName` is false for such names, so they are not listed. */
function requireOwnName(name: string): string {
  if (/^\.[\w.-]{1,127}$/.test(name)) return name;
  throw new TypeError(`${JSON.stringify(name)} is not the name of a secret of the hub`);
}

function requireName(name: string): void {
  if (isName(name)) return;
  const rule =
    'the name of a secret has 1 to 128 letters, digits, "_", "." and "-", starts with a letter, digit or "_", and is not "__proto__"';
  throw new HubError('HUB_USAGE', rule);
}

const notSet = (name: string) => `secret ${name} is not set. Run agenthub secret set ${name}`;
