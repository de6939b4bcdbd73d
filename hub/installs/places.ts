import { HubError } from '#core';
import { freeName } from './source.ts';

/** Reserves names for running installs and removals, and limits the number of installs. */
export interface Places {
  /**
   * Reserves a name until the place is disposed: `wanted`, or a free name like `derived`. Throws HUB_SERVER_EXISTS if
   * the name is taken, and HUB_INSTALLS_FULL if too many installs are running.
   */
  take(wanted: string | undefined, derived: string): Place;
  /**
   * Reserves the name of an existing server for its removal. The limit on installs does not apply: a removal does
   * none of their work, and there are no more removals than servers. Throws HUB_SERVER_EXISTS.
   */
  takeKnown(name: string): Place;
}
export type Place = Disposable & { readonly name: string };

/**
 * Maximum number of concurrent installs. Each may build an image and starts a server, so more would slow down all of
 * them.
 */
const maxAtOnce = 4;

/** `names` returns the server names of the config in force. */
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
