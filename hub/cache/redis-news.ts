import { type Clock, type Event, createEmitter, isObject } from '#core';

/** What is told on the channel of a cache, or by the connection itself. */
export type News =
  | { readonly kind: 'ended'; readonly key: string; readonly given: string | undefined }
  /** No tag means all. */
  | { readonly kind: 'forgot'; readonly tag: string | undefined }
  | { readonly kind: 'lost' };

/** What a message says, as the scripts write it; undefined where it is nothing of theirs. */
export function parseNews(message: string): News | undefined {
  try {
    const said: unknown = JSON.parse(message);
    if (!isObject(said)) return undefined;
    const { key, outcome, value, forgot } = said;
    if (forgot === '') return { kind: 'forgot', tag: undefined };
    if (typeof forgot === 'string') return { kind: 'forgot', tag: String(JSON.parse(forgot)) };
    if (typeof key !== 'string') return undefined;
    const given = outcome === 'given' && typeof value === 'string' ? value : undefined;
    return { kind: 'ended', key, given };
  } catch {
    return undefined;
  }
}

/** Listens for the end of a fill elsewhere, from the moment at which it is made. */
export type Listening = Disposable & {
  /**
   * Resolves when the fill has ended, when nothing can be heard any more, or after `waitMs`; with what it
   * gave, where it gave a value that is not kept. Rejects with the reason of `signal`.
   */
  heard(waitMs: number, signal: AbortSignal): Promise<string | undefined>;
};

/** News of many keys, for who waits for one of them. */
export function createNews(clock: Pick<Clock, 'after'>): {
  readonly event: Event<News>;
  readonly fire: (news: News) => void;
  listen(key: string): Listening;
} {
  const { event, fire } = createEmitter<News>();
  return {
    event,
    fire,
    listen(key) {
      const ended = Promise.withResolvers<string | undefined>();
      ended.promise.catch(() => {});
      const subscription = event(news => {
        if (news.kind === 'lost') ended.resolve(undefined);
        else if (news.kind === 'ended' && news.key === key) ended.resolve(news.given);
      });
      return {
        async heard(waitMs, signal) {
          const leave = () => ended.reject(signal.reason);
          if (signal.aborted) leave();
          signal.addEventListener('abort', leave, { once: true });
          using _timer = clock.after(waitMs, () => ended.resolve(undefined));
          try {
            return await ended.promise;
          } finally {
            signal.removeEventListener('abort', leave);
          }
        },
        [Symbol.dispose]: () => subscription[Symbol.dispose](),
      };
    },
  };
}
