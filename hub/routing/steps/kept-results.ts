import type { ExactCache } from '#cache';
import type { ServerConfig } from '#config';
import type { Clock } from '#core';
import type { Running, Server } from '#servers';

/** Kept results of one server, or of one of its instances. */
export type KeptOfServer = {
  readonly settings: KeptSettings;
  /** Opens the cache with its first use. */
  readonly open: () => ExactCache | Promise<ExactCache>;
};

type KeptSettings = NonNullable<ServerConfig['cache']>;

type State = KeptOfServer & {
  cache: ExactCache | undefined;
  /** The instance that made the results; undefined if they were made before it was known. */
  running: Running | undefined;
  readonly heard: Disposable;
};

/** `hits`: calls with a kept result. `joined`: calls with the result of one at the same time. `misses`: calls that were sent. */
type KeptResultsStats = Readonly<
  Record<'results' | 'bytes' | 'hits' | 'joined' | 'misses', number>
>;

/** More results of one server are dropped, the least recently used first. */
const maxResults = 10_000;

/**
 * The kept results of all servers, in memory. Those of a server are dropped when its entry changes, when it runs as another
 * instance, and when its list of tools changes.
 */
export function createKeptResults({ clock }: { readonly clock: Pick<Clock, 'now' | 'monotonic'> }) {
  /** Kept results by the configured server, and then by its instance that answers. */
  const states = new WeakMap<Server, Map<Server, State>>();

  function create(worker: Server, settings: KeptSettings): State {
    const state: State = {
      settings,
      cache: undefined,
      running: worker.running,
      heard: worker.listed(kind => {
        if (kind === 'tool') void state.cache?.forget();
      }),
      open: () => state.cache ?? load(state),
    };
    return state;
  }

  /** Loaded on demand: few configs keep results. */
  async function load(state: State): Promise<ExactCache> {
    const { createMemoryCache } = await import('#cache');
    const { maxBytes } = state.settings;
    return (state.cache ??= createMemoryCache({ maxEntries: maxResults, maxBytes }, { clock }));
  }

  return {
    /** The kept results of a server whose entry has `cache`, at the instance that answers. */
    of(server: Server, worker: Server, settings: KeptSettings): KeptOfServer {
      const ofServer = states.get(server) ?? new Map<Server, State>();
      states.set(server, ofServer);
      let state = ofServer.get(worker);
      if (state?.settings !== settings) {
        state?.heard[Symbol.dispose]();
        state = create(worker, settings);
        ofServer.set(worker, state);
      }
      const { running } = worker;
      if (running && state.running && running !== state.running) void state.cache?.forget();
      state.running = running ?? state.running;
      return state;
    },
    /** How many results of a server are kept, and how often they were given. Undefined if its entry keeps none. */
    async stats(server: Server): Promise<KeptResultsStats | undefined> {
      if (!server.config.cache) return undefined;
      const caches = [...(states.get(server)?.values() ?? [])].flatMap(({ cache }) => cache ?? []);
      const all = await Promise.all(caches.map(cache => cache.stats()));
      const sum = (key: 'entries' | 'bytes' | 'hits' | 'joined' | 'misses') =>
        all.reduce((total, one) => total + one[key], 0);
      return {
        results: sum('entries'),
        bytes: sum('bytes'),
        hits: sum('hits'),
        joined: sum('joined'),
        misses: sum('misses'),
      };
    },
    /** Drops the kept results of a server, also those that are being made. */
    drop(server: Server): void {
      for (const { cache } of states.get(server)?.values() ?? []) void cache?.forget();
    },
  };
}
