import { type Clock, type Log, type Service, messageOf } from '#core';
import { announceRunning } from '#store';

/** Delay in ms before the routes are loaded, unless a request needs them earlier: servers start first. */
const routesAfterMs = 1_000;

type Listener = Service & {
  readonly url: string;
  readonly sockets: readonly string[];
  /** Loads the code of all routes other than plain calls. */
  load(): Promise<unknown>;
};

/**
 * Returns the services of a hub that listens for clients: the HTTP server, the file with its address, and the routes.
 */
export function listeningServices(
  http: Listener,
  dataFolder: string,
  { clock, log }: { readonly clock: Pick<Clock, 'after'>; readonly log: Pick<Log, 'warn'> },
): readonly Service[] {
  const noWork = async () => {};

  async function announce(): Promise<void> {
    try {
      await announceRunning(dataFolder, { url: http.url, sockets: http.sockets });
    } catch (error) {
      // The hub continues, because servers can run on a full disk.
      log.warn(
        { folder: dataFolder, problem: messageOf(error) },
        `the address of the hub cannot be written: commands find it only with --url ${http.url}`,
      );
    }
  }

  let soon: Disposable | undefined;
  return [
    http,
    {
      start: announce,
      stop: noWork,
    },
    {
      async start() {
        soon = clock.after(routesAfterMs, () => void http.load());
      },
      stop: async () => soon?.[Symbol.dispose](),
    },
  ];
}
