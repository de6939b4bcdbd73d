import { type Position, hashOf, lineOf } from './chain.ts';

/** Lines that wait to be written together. */
export type LinePage = {
  readonly bytes: Buffer;
  length: number;
  /** Number of its first line. */
  readonly firstSeq: number;
  /** Its last line. */
  last: Position;
  /** Lines are no longer added, because it is being written. */
  isSealed: boolean;
};

const pageBytes = 64 * 1024;
/** A UTF-16 unit has at most 3 bytes in UTF-8. */
const maxUnitBytes = 3;

/**
 * The lines that wait, chained and as bytes. Thousands of waiting strings would survive the young generation and burden
 * the garbage collector.
 */
export function createPages(end: Position, maxPages: number) {
  const pages: LinePage[] = [];
  let spare: Buffer | undefined;
  let last = end;

  function pageFor(bytes: number): LinePage | undefined {
    const page = pages.at(-1);
    if (page && !page.isSealed && page.length + bytes <= pageBytes) return page;
    if (pages.length >= maxPages) return undefined;
    const made: LinePage = {
      bytes: spare ?? Buffer.allocUnsafeSlow(pageBytes),
      length: 0,
      firstSeq: last.seq + 1,
      last,
      isSealed: false,
    };
    spare = undefined;
    pages.push(made);
    return made;
  }

  return {
    /** Adds a line. Returns false if there is no room. */
    add(body: string): boolean {
      const line = lineOf(body, last);
      const page = pageFor((line.length + 1) * maxUnitBytes);
      if (!page) return false;
      page.length += page.bytes.write(`${line}\n`, page.length);
      page.last = last = { seq: last.seq + 1, hash: hashOf(line) };
      return true;
    },
    /** The oldest page, which gets no more lines. */
    seal(): LinePage | undefined {
      const [page] = pages;
      if (page) page.isSealed = true;
      return page;
    },
    /** Drops the oldest page, which was written. */
    drop(): void {
      spare = pages.shift()?.bytes;
    },
    /** Number of waiting lines. */
    get lines(): number {
      const [first] = pages;
      return first ? last.seq - first.firstSeq + 1 : 0;
    },
  };
}

export type Pages = ReturnType<typeof createPages>;
