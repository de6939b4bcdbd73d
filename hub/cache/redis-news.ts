import { type Clock, createEmitter, isObject, unlessAborted } from '#core';

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
    // Other programs may publish on a shared Redis.
    return undefined;
  }
}

export type News = ReturnType<typeof createNews>;

/** Hands messages to the calls that wait for a key. */
export function createNews(clock: Pick<Clock, 'after'>) {
  const { event, fire } = createEmitter<CacheMessage>();
  return {
    fire,
    /** Hears the end of another hub's fill from now on. */
    listen(key: string) {
      const ended = Promise.withResolvers<string | undefined>();
      const subscription = event(message => {
        if (message.kind === 'lost') ended.resolve(undefined);
        else if (message.kind === 'ended' && message.key === key) ended.resolve(message.given);
      });
      return {
        /**
         * Resolves when the fill has ended, when the connection is lost, or after `waitMs`; with the value if the fill
         * gave one that is not kept. Rejects with the reason of `signal`.
         */
        async heard(waitMs: number, signal: AbortSignal): Promise<string | undefined> {
          using _timer = clock.after(waitMs, () => ended.resolve(undefined));
          return await unlessAborted(ended.promise, signal);
        },
        [Symbol.dispose]: () => subscription[Symbol.dispose](),
      };
    },
  };
}
