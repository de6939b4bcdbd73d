import { HubError } from '#core';
import { freeName } from './source.ts';

/** The names that installs and removals under way have for themselves, and how many installs there are. */
export interface Places {
  /**
   * Takes a name until it is disposed: the wanted one, or one like `derived`. Throws HUB_SERVER_EXISTS where
   * it is taken, and HUB_INSTALLS_FULL where too many are under way.
   */
  take(wanted: string | undefined, derived: string): Place;
  /**
   * Takes the name of a server that there is, which is being removed: however many installs are under way, as
   * it makes none of their work, and there are no more removals than servers. Throws HUB_SERVER_EXISTS.
   */
  takeKnown(name: string): Place;
}
export type Place = Disposable & { readonly name: string };

/** An install may build an image and starts a server: more at once would be slower for all. */
const maxAtOnce = 4;

/** `names` are those of the config in force. */
export function createPlaces(names: () => readonly string[]): Places {
  const installed = new Set<string>();
  const removed = new Set<string>();
  const isTaken = (name: string) => installed.has(name) || removed.has(name);

  function place(name: string, among: Set<string>): Place {
    among.add(name);
    return { name, [Symbol.dispose]: () => void among.delete(name) };
  }

  return {
    take(wanted, derived) {
      if (installed.size >= maxAtOnce) throw full();
      const known = new Set([...names(), ...installed, ...removed]);
      const name = wanted ?? freeName(derived, tried => known.has(tried));
      if (name !== undefined && !known.has(name)) return place(name, installed);
      const shown = name ?? derived;
      throw isTaken(shown) ? busy(shown) : exists(shown);
    },
    takeKnown(name) {
      if (isTaken(name)) throw busy(name);
      return place(name, removed);
    },
  };
}

const full = () =>
  new HubError(
    'HUB_INSTALLS_FULL',
    `${maxAtOnce} servers are being installed already. Try again when one of them is done`,
    { data: { retryable: true } },
  );

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
