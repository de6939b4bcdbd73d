import { type Clock, createEmitter, isObject } from '#core';

/** A message on the channel of a cache, or the loss of the connection. */
export type CacheMessage =
  | { readonly kind: 'ended'; readonly key: string; readonly given: string | undefined }
  /** Without a tag: all entries. */
  | { readonly kind: 'forgot'; readonly tag: string | undefined }
  | { readonly kind: 'lost' };

/** Parses a message as the scripts write it; undefined for any other. */
export function parseMessage(text: string): CacheMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    if (!isObject(message)) return undefined;
    const { key, outcome, value, forgot } = message;
    if (forgot === '') return { kind: 'forgot', tag: undefined };
    if (typeof forgot === 'string') return { kind: 'forgot', tag: String(JSON.parse(forgot)) };
    if (typeof key !== 'string') return undefined;
    const given = outcome === 'given' && typeof value === 'string' ? value : undefined;
    return { kind: 'ended', key, given };
  } catch {
    return undefined;
  }
}

/** Hears the end of another hub's fill, from its creation on. */
export type Listening = Disposable & {
  /**
   * Resolves when the fill has ended, when the connection is lost, or after `waitMs`; with the value if the fill
   * gave one that is not kept. Rejects with the reason of `signal`.
   */
  heard(waitMs: number, signal: AbortSignal): Promise<string | undefined>;
};

/** Hands messages to the calls that wait for a key. */
export interface News {
  fire(message: CacheMessage): void;
  listen(key: string): Listening;
}

export function createNews(clock: Pick<Clock, 'after'>): News {
  const { event, fire } = createEmitter<CacheMessage>();
  return {
    fire,
    listen(key) {
      const ended = Promise.withResolvers<string | undefined>();
      const subscription = event(message => {
        if (message.kind === 'lost') ended.resolve(undefined);
        else if (message.kind === 'ended' && message.key === key) ended.resolve(message.given);
      });
      return {
        async heard(waitMs, signal) {
          signal.throwIfAborted();
          const leave = () => ended.reject(signal.reason);
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
