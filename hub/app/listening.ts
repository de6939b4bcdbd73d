import type { Clock, Service } from '#core';
import { announceRunning } from '#store';

/** Delay in ms before the routes are loaded, unless a request needs them earlier: servers start first. */
const routesAfterMs = 1_000;

type Listener = Service & {
  readonly url: string;
  readonly sockets: readonly string[];
  /** Loads the routes. */
  load(): Promise<unknown>;
};

/** The services of a hub that listens for clients: the HTTP server, the file that names its address, and the routes. */
export function listeningServices(
  http: Listener,
  dataFolder: string,
  clock: Pick<Clock, 'after'>,
): readonly Service[] {
  const noWork = async () => {};
  let soon: Disposable | undefined;
  return [
    http,
    {
      name: 'announcement',
      start: () => announceRunning(dataFolder, { url: http.url, sockets: http.sockets }),
      stop: noWork,
    },
    {
      name: 'routes',
      async start() {
        soon = clock.after(routesAfterMs, () => void http.load());
      },
      stop: async () => soon?.[Symbol.dispose](),
    },
  ];
}
