import { type Clock, messageOf, within } from '#core';

/** Result of an access to the keychain. `why`: the reason why the keychain cannot be used. */
type Access<Result> =
  | { readonly state: 'usable'; readonly result: Result }
  | { readonly state: 'locked' | 'absent'; readonly why: string };

/** An entry of the keychain, as in the API of `@napi-rs/keyring`. */
type KeychainEntry = {
  getPassword(signal: AbortSignal): Promise<string | null>;
  setPassword(password: string, signal: AbortSignal): Promise<void>;
  deleteCredential(signal: AbortSignal): Promise<boolean>;
};

/** The part of the API of `@napi-rs/keyring` that is used here. */
type Keyring = {
  readonly AsyncEntry: new (
    service: string,
    name: string,
    options: { linux: { store: 'secret-service' } },
  ) => KeychainEntry;
};

export type KeychainNeeds = {
  readonly clock: Clock;
  /** Imports the library. Called at the first access. */
  readonly load: () => Promise<Keyring>;
};

/** Rejects on platforms without a binary of the library, because the library is not installed there. */
export const loadKeyring = async (): Promise<Keyring> => await import('@napi-rs/keyring');

/** Timeout of an access in ms. The system may ask its user to unlock the keychain meanwhile. */
const accessMs = 30_000;
const probeName = '.probe';

/** Creates access to entries in the Keychain, Credential Manager or Secret Service of the operating system. */
export function createKeychain({ clock, load }: KeychainNeeds) {
  async function access<T>(
    service: string,
    name: string,
    use: (entry: KeychainEntry, signal: AbortSignal) => Promise<T>,
  ): Promise<Access<T>> {
    try {
      const { AsyncEntry } = await load();
      // Without this option, Linux falls back to the kernel keyring, which does not survive a reboot.
      const entry = new AsyncEntry(service, name, { linux: { store: 'secret-service' } });
      const work = async (signal: AbortSignal) => await use(entry, signal);
      return { state: 'usable', result: await within(accessMs, { clock }, work) };
    } catch (error) {
      const why = messageOf(error);
      // The library has one code for all failures, so the message is searched.
      return /\b(?:un)?lock|prompt|no answer within/i.test(why)
        ? { state: 'locked', why: `the keychain is locked (${why}): unlock it` }
        : { state: 'absent', why: `there is no usable keychain (${why})` };
    }
  }

  return {
    /** Reads an entry. The result is null if there is no such entry. */
    get: async (service: string, name: string) =>
      await access(service, name, (entry, signal) => entry.getPassword(signal)),
    set: async (service: string, name: string, value: string) =>
      await access(service, name, (entry, signal) => entry.setPassword(value, signal)),
    remove: async (service: string, name: string) =>
      await access(service, name, (entry, signal) => entry.deleteCredential(signal)),
    /** Writes, reads and deletes a test entry: some keychains show only then that they are locked. */
    probe: async (service: string) =>
      await access(service, probeName, async (entry, signal) => {
        await entry.setPassword(probeName, signal);
        const kept = await entry.getPassword(signal);
        await entry.deleteCredential(signal);
        if (kept !== probeName) throw new Error('it does not keep what is written to it');
      }),
  };
}
