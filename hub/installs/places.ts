import { HubError } from '#core';
import { freeName } from './source.ts';

/** Maximum number of concurrent installs. Each may build an image and start a server, so more would slow down all. */
const maxAtOnce = 4;

export type Places = ReturnType<typeof createPlaces>;

/** Reserves names for installs, up to a maximum, and for removals. `names` returns the names in the active config. */
export function createPlaces(names: () => readonly string[]) {
  const installed = new Set<string>();
  const removed = new Set<string>();
  const isTaken = (name: string) => installed.has(name) || removed.has(name);

  function reserve(name: string, among: Set<string>) {
    among.add(name);
    return { name, [Symbol.dispose]: () => void among.delete(name) };
  }

  return {
    /** Reserves `wanted`, or a free name derived from `derived`. Throws HUB_SERVER_EXISTS or HUB_INSTALLS_FULL. */
    take(wanted: string | undefined, derived: string) {
      if (installed.size >= maxAtOnce)
        throw new HubError(
          'HUB_INSTALLS_FULL',
          `${maxAtOnce} servers are being installed already. Try again when one of them is done`,
          { data: { retryable: true } },
        );
      const known = new Set([...names(), ...installed, ...removed]);
      const name = wanted ?? freeName(derived, tried => known.has(tried));
      if (name !== undefined && !known.has(name)) return reserve(name, installed);
      const shown = name ?? derived;
      if (isTaken(shown)) throw busy(shown);
      throw new HubError(
        'HUB_SERVER_EXISTS',
        `a server is called ${JSON.stringify(shown)} already. Choose another "name", or remove that one ("agenthub remove ${shown}")`,
        { data: { server: shown } },
      );
    },
    /** Reserves the name of a server that is removed, without a limit: removals are cheap. Throws HUB_SERVER_EXISTS. */
    takeKnown(name: string) {
      if (isTaken(name)) throw busy(name);
      return reserve(name, removed);
    },
  };
}

const busy = (name: string) =>
  new HubError(
    'HUB_SERVER_EXISTS',
    `${JSON.stringify(name)} is being installed or removed by another request. Wait for that, or choose another "name"`,
    { data: { server: name, retryable: true } },
  );
