import { HubError } from '#core';
import { freeName } from './source.ts';

/** The names that installs and removals under way have for themselves, and how many there are. */
export interface Places {
  /**
   * Takes a name until it is disposed: the wanted one, or one like `derived`. Throws HUB_SERVER_EXISTS where
   * it is taken, and HUB_INSTALLS_FULL where too much is under way.
   */
  take(wanted: string | undefined, derived: string): Place;
  /** Takes the name of a server that there is, which is being removed. Throws as `take` does. */
  takeKnown(name: string): Place;
}
export type Place = Disposable & { readonly name: string };

/** An install may build an image and starts a server: more at once would be slower for all. */
const maxAtOnce = 4;

/** `names` are those of the config in force. */
export function createPlaces(names: () => readonly string[]): Places {
  const taken = new Set<string>();

  function place(name: string): Place {
    taken.add(name);
    return { name, [Symbol.dispose]: () => void taken.delete(name) };
  }

  function refuseMore(): void {
    if (taken.size < maxAtOnce) return;
    throw new HubError(
      'HUB_INSTALLS_FULL',
      `${maxAtOnce} servers are being installed or removed already. Try again when one of them is done`,
      { data: { retryable: true } },
    );
  }

  return {
    take(wanted, derived) {
      refuseMore();
      const known = new Set([...names(), ...taken]);
      const name = wanted ?? freeName(derived, tried => known.has(tried));
      if (name !== undefined && !known.has(name)) return place(name);
      const shown = name ?? derived;
      throw taken.has(shown) ? busy(shown) : exists(shown);
    },
    takeKnown(name) {
      refuseMore();
      if (taken.has(name)) throw busy(name);
      return place(name);
    },
  };
}

const busy = (name: string) =>
  new HubError(
    'HUB_SERVER_EXISTS',
    `${JSON.stringify(name)} is being installed or removed by another request. Wait for that, or choose another "name"`,
    { data: { server: name, retryable: true } },
  );

const exists = (name: string) =>
  new HubError(
    'HUB_SERVER_EXISTS',
    `a server is called ${JSON.stringify(name)} already. Choose another "name", or remove that one (DELETE /servers/${name})`,
    { data: { server: name } },
  );
