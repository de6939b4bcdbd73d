import { hash } from 'node:crypto';
import { isObject, tryParseJson } from '#core';
import type { Folder, Table } from '#store';

/** Maximum number of stored responses of registries. */
export const maxAnswers = 300;

/** A stored response of a registry. */
export type StoredAnswer = {
  readonly body: unknown;
  readonly etag: string | undefined;
  /** When the registry last confirmed the response, in milliseconds since the epoch. */
  readonly at: number;
};

type Needs = {
  /** Time and ETag of each response, by URL. Above `maxAnswers`, the oldest is dropped. */
  readonly index: Table;
  /** Folder with the bodies of the responses. */
  readonly bodies: Folder;
  readonly maxAnswers: number;
};

/** Stores responses of registries on disk. */
export type StoredAnswers = ReturnType<typeof createStoredAnswers>;

export function createStoredAnswers({ index, bodies, maxAnswers }: Needs) {
  const nameOf = (url: string) => hash('sha256', url).slice(0, 32);

  async function read(url: string): Promise<StoredAnswer | undefined> {
    const about = tryParseJson((await index.find(url)) ?? '');
    if (!isObject(about) || typeof about['at'] !== 'number') return undefined;
    const body = tryParseJson((await bodies.read(nameOf(url))) ?? '');
    const { at, etag } = about;
    return body === undefined
      ? undefined
      : { body, at, etag: typeof etag === 'string' ? etag : undefined };
  }

  const putAbout = (url: string, { etag, at }: Omit<StoredAnswer, 'body'>) =>
    index.put(url, JSON.stringify({ at, ...(etag !== undefined && { etag }) }));

  return {
    find: read,
    async put(url: string, { body, ...about }: StoredAnswer): Promise<void> {
      const known = await index.entries();
      const [oldest] = known;
      if (oldest && known.length >= maxAnswers && !known.some(([other]) => other === url))
        await bodies.remove(nameOf(oldest[0]));
      await bodies.write(nameOf(url), JSON.stringify(body));
      await putAbout(url, about);
    },
    /** Records that the registry has confirmed a stored response. */
    renew: async (url: string, about: Omit<StoredAnswer, 'body'>): Promise<void> =>
      void (await putAbout(url, about)),
    /** Returns all stored responses whose URLs start with `prefix`, the newest first. */
    async all(prefix: string): Promise<readonly StoredAnswer[]> {
      const urls = (await index.entries())
        .map(([url]) => url)
        .filter(url => url.startsWith(prefix));
      const found = await Promise.all(urls.map(read));
      return found.filter(one => one !== undefined).sort((one, other) => other.at - one.at);
    },
  };
}
