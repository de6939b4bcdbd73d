import type { ExactCache } from '#cache';
import type { ServerConfig } from '#config';
import type { Clock } from '#core';
import type { Running, Server } from '#servers';

/** Cached results of one server, or of one of its instances. */
export type KeptOfServer = {
  readonly settings: KeptSettings;
  /** Opens the cache at its first use. */
  readonly open: () => ExactCache | Promise<ExactCache>;
};

type KeptSettings = NonNullable<ServerConfig['cache']>;

type State = KeptOfServer & {
  cache: ExactCache | undefined;
  /** The instance that made the results; undefined if no instance ran yet. */
  running: Running | undefined;
  readonly heard: Disposable;
};

/**
 * `hits`: calls with a cached result. `joined`: calls that shared the result of an equal call in flight. `misses`:
 * calls that were sent.
 */
type KeptResultsStats = Readonly<
  Record<'results' | 'bytes' | 'hits' | 'joined' | 'misses', number>
>;

/** Maximum number of cached results per server. Above it, the least recently used results are dropped. */
const maxResults = 10_000;

/**
 * Caches results of all servers in memory. Drops the results of a server when its entry changes, when another instance
 * of it runs, and when its list of tools changes.
 */
export function createKeptResults({ clock }: { readonly clock: Pick<Clock, 'now' | 'monotonic'> }) {
  /** Caches by the configured server, and then by the instance that answers. */
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

  /** Loads the cache module on demand: few configs cache results. */
  async function load(state: State): Promise<ExactCache> {
    const { createMemoryCache } = await import('#cache');
    const { maxBytes } = state.settings;
    return (state.cache ??= createMemoryCache({ maxEntries: maxResults, maxBytes }, { clock }));
  }

  return {
    /** Returns the cached results of a server whose entry has `cache`, for the instance that answers. */
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
    /**
     * Returns how many results of a server are cached, and how often they were used. Undefined if its entry caches
     * none.
     */
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
    /** Drops the cached results of a server, including results of calls in flight. */
    drop(server: Server): void {
      for (const { cache } of states.get(server)?.values() ?? []) void cache?.forget();
    },
  };
}
