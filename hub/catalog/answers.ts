import { hash } from 'node:crypto';
import { isObject, tryParseJson } from '#core';
import type { Folder, Table } from '#store';

/** Maximum number of stored answers of registries. */
export const maxAnswers = 300;

/** An answer of a registry. */
export type StoredAnswer = {
  readonly body: unknown;
  readonly etag: string | undefined;
  /** When the registry last said that it is current, in milliseconds since the epoch. */
  readonly at: number;
};

type Needs = {
  /** Time and ETag of each answer, by URL. The oldest is dropped above `maxAnswers`. */
  readonly index: Table;
  /** The bodies. */
  readonly bodies: Folder;
  readonly maxAnswers: number;
};

/** The answers of registries on disk. */
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
    /** Records that an answer is still current. */
    renew: async (url: string, about: Omit<StoredAnswer, 'body'>): Promise<void> =>
      void (await putAbout(url, about)),
    /** All answers whose URLs begin with `prefix`, the newest first. */
    async all(prefix: string): Promise<readonly StoredAnswer[]> {
      const urls = (await index.entries())
        .map(([url]) => url)
        .filter(url => url.startsWith(prefix));
      const found = await Promise.all(urls.map(read));
      return found.filter(one => one !== undefined).sort((one, other) => other.at - one.at);
    },
  };
}
