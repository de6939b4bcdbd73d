import { writeShort, writeWhole } from '#core';
import { type Position, hashOf, maxBlockLines } from './chain.ts';

/** Lines that wait to be written together. */
type LinePage = {
  readonly bytes: Buffer;
  readonly maxBytes: number;
  length: number;
  /** Number of its first line. */
  readonly firstSeq: number;
  /** Where its last block begins. */
  blockAt: number;
  blockLines: number;
  /** Position of the last line of the page; undefined while lines are added. */
  last: Position | undefined;
};

/** Writes the members of a line into a buffer, and returns the position after them. */
export type WriteMembers = (to: Buffer, at: number) => number;

/** How to write members that exist already, and their length. */
export const copyOf = (members: Buffer): readonly [WriteMembers, number] => [
  (to, at) => at + members.copy(to, at),
  members.length,
];

/** A page that gets no more lines. */
export type SealedPage = Pick<LinePage, 'bytes' | 'length'> & { readonly last: Position };

/** Longer pages cost less for each line, and wait longer. */
const maxPageBytes = 256 * 1024;
/** A block that is longer ends with its line, so that the end of a file tells the last block. */
const maxBlockBytes = 32 * 1024;
/** What a page adds to the members of a line, in bytes: `seq`, `previous`, braces and the line feed. */
const maxOwnBytes = 120;
/** Number of lines of a page that are blocks of their own: at usual rates the check of the log tells which line was changed. */
const singleLines = 16;
/** Bound of the written pages that are used again. Others burden the garbage collector. */
const maxSpares = 8;

const seqMember = Buffer.from('{"seq":');
const previousMember = Buffer.from(',"previous":"');
const [quote, comma, brace, lineFeed] = [0x22, 0x2c, 0x7d, 0x0a];

type PagesOptions = {
  readonly maxPages: number;
  /** A page is at most one file. Read for each page, so that a reload applies. */
  readonly maxFileBytes: () => number;
};

/**
 * The lines that wait, chained and as bytes. Thousands of waiting strings would survive the young generation and burden
 * the garbage collector.
 */
export function createPages(end: Position, { maxPages, maxFileBytes }: PagesOptions) {
  const pages: LinePage[] = [];
  const spares: Buffer[] = [];
  let { seq } = end;
  /** Hash of the block that ended last. */
  let previous = end.hash;

  function endBlock({ bytes, blockAt, length }: LinePage): void {
    previous = hashOf(bytes.subarray(blockAt, length - 1));
  }

  /** Ends a page: the next line begins another one. Only the newest page is open. */
  function close(page: LinePage): Position {
    if (page.last) return page.last;
    endBlock(page);
    return (page.last = { seq, hash: previous });
  }

  function pageFor(lineBytes: number): LinePage | undefined {
    const page = pages.at(-1);
    if (page && !page.last) {
      if (page.length + lineBytes <= page.maxBytes) return page;
      close(page);
    }
    if (pages.length >= maxPages) return undefined;
    const made: LinePage = {
      bytes: spares.pop() ?? Buffer.allocUnsafeSlow(maxPageBytes),
      maxBytes: Math.min(maxPageBytes, maxFileBytes()),
      length: 0,
      firstSeq: seq + 1,
      blockAt: 0,
      blockLines: 0,
      last: undefined,
    };
    pages.push(made);
    return made;
  }

  /** Begins a block with the line that is being written, and returns the position after the hash of the block before. */
  function beginBlock(page: LinePage, at: number): number {
    if (page.length > 0) endBlock(page);
    page.blockAt = page.length;
    page.blockLines = 0;
    const end = writeShort(page.bytes, at, previousMember);
    const written = page.bytes.write(previous, end, 'latin1');
    page.bytes[end + written] = quote;
    return end + written + 1;
  }

  return {
    /** Adds a line whose members take at most this many bytes. Returns false if there is no room. */
    add(write: WriteMembers, maxBytes: number): boolean {
      const page = pageFor(maxBytes + maxOwnBytes);
      if (!page) return false;
      const { bytes } = page;
      let at = writeWhole(bytes, writeShort(bytes, page.length, seqMember), ++seq);
      bytes[at++] = comma;
      at = write(bytes, at);
      if (isLastOfBlock(page, seq - page.firstSeq)) at = beginBlock(page, at);
      bytes[at++] = brace;
      bytes[at++] = lineFeed;
      page.length = at;
      page.blockLines++;
      return true;
    },
    /** Whether a page waits that gets no more lines. */
    get hasFullPage(): boolean {
      return pages.length > 1;
    },
    /** The oldest page, which gets no more lines. With `onlyFull`, not the newest one. */
    seal(onlyFull = false): SealedPage | undefined {
      const [page] = pages;
      if (!page || (onlyFull && pages.length === 1)) return undefined;
      const { bytes, length } = page;
      return { bytes, length, last: close(page) };
    },
    /** Drops the oldest page, which was written. */
    drop(): void {
      const page = pages.shift();
      if (page && spares.length < maxSpares) spares.push(page.bytes);
    },
    /** Number of waiting lines. */
    get lines(): number {
      const [first] = pages;
      return first ? seq - first.firstSeq + 1 : 0;
    },
  };
}

/** Whether the block ends before the next line. `lines` is the number of lines of the page. */
const isLastOfBlock = ({ blockLines, blockAt, length }: LinePage, lines: number): boolean =>
  lines < singleLines || blockLines === maxBlockLines || length - blockAt > maxBlockBytes;

export type Pages = ReturnType<typeof createPages>;
