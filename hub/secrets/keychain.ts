import { type Clock, messageOf, within } from '#core';

/** The result of an access to the keychain. `why` says why it cannot be used. */
type Access<Result> =
  | { readonly state: 'usable'; readonly result: Result }
  | { readonly state: 'locked' | 'absent'; readonly why: string };

/** One entry of a keychain, as `@napi-rs/keyring` offers it. */
type KeychainEntry = {
  getPassword(signal: AbortSignal): Promise<string | null>;
  setPassword(password: string, signal: AbortSignal): Promise<void>;
  deleteCredential(signal: AbortSignal): Promise<boolean>;
};

/** The part of `@napi-rs/keyring` that is used. */
type Keyring = {
  readonly AsyncEntry: new (
    service: string,
    name: string,
    options: { linux: { store: 'secret-service' } },
  ) => KeychainEntry;
};

export type KeychainNeeds = {
  readonly clock: Clock;
  /** Loads the library. Called at the first access. */
  readonly load: () => Promise<Keyring>;
};

/** Installed only where it has a binary for the platform. */
export const loadKeyring = async (): Promise<Keyring> => await import('@napi-rs/keyring');

/** Time limit in ms of one access: the system may ask its user to unlock the keychain. */
const accessMs = 30_000;
const probeName = '.probe';

/** Creates access to the entries of one service in the operating system's Keychain, Credential Manager or Secret Service. */
export function createKeychain({ clock, load }: KeychainNeeds) {
  async function access<T>(
    service: string,
    name: string,
    use: (entry: KeychainEntry, signal: AbortSignal) => Promise<T>,
  ): Promise<Access<T>> {
    try {
      const { AsyncEntry } = await load();
      // Without a store, Linux would fall back to the keyring of the kernel, which does not survive a restart.
      const entry = new AsyncEntry(service, name, { linux: { store: 'secret-service' } });
      const work = async (signal: AbortSignal) => await use(entry, signal);
      return { state: 'usable', result: await within(accessMs, { clock }, work) };
    } catch (error) {
      const why = messageOf(error);
      // The library reports every failure with one code.
      return /\b(?:un)?lock|prompt|no answer within/i.test(why)
        ? { state: 'locked', why: `the keychain is locked (${why}): unlock it` }
        : { state: 'absent', why: `there is no usable keychain (${why})` };
    }
  }

  return {
    /** The result is null if there is no such entry. */
    get: async (service: string, name: string) =>
      await access(service, name, (entry, signal) => entry.getPassword(signal)),
    set: async (service: string, name: string, value: string) =>
      await access(service, name, (entry, signal) => entry.setPassword(value, signal)),
    remove: async (service: string, name: string) =>
      await access(service, name, (entry, signal) => entry.deleteCredential(signal)),
    /** Writes, reads and removes an entry: some keychains show only then that they are locked. */
    probe: async (service: string) =>
      await access(service, probeName, async (entry, signal) => {
        await entry.setPassword(probeName, signal);
        const kept = await entry.getPassword(signal);
        await entry.deleteCredential(signal);
        if (kept !== probeName) throw new Error('it does not keep what is written to it');
      }),
  };
}
