import { writeShort, writeWhole } from '#core';
import { type Position, hashOf, maxBlockLines } from './chain.ts';

/** A buffer of lines that are written to the file together. */
type LinePage = {
  readonly bytes: Buffer;
  readonly maxBytes: number;
  length: number;
  /** Number of its first line. */
  readonly firstSeq: number;
  /** Offset of its last block, in bytes. */
  blockAt: number;
  blockLines: number;
  /** Position of the last line of the page; undefined while the page is open. */
  last: Position | undefined;
};

/** Writes the members of a line into a buffer, and returns the position after them. */
export type WriteMembers = (to: Buffer, at: number) => number;

/** Returns a function that copies finished members of a line, and their length in bytes. */
export const copyOf = (members: Buffer): readonly [WriteMembers, number] => [
  (to, at) => at + members.copy(to, at),
  members.length,
];

/** A page that accepts no more lines. */
export type SealedPage = Pick<LinePage, 'bytes' | 'length'> & { readonly last: Position };

/** Size of a page in bytes. A larger page costs less per line, but its lines wait longer. */
const maxPageBytes = 256 * 1024;
/** Size in bytes after which a block ends with the current line, so that the tail of a file contains the last block. */
const maxBlockBytes = 32 * 1024;
/** Maximum number of bytes that a page adds to a line: `seq`, `previous`, braces and the line feed. */
const maxOwnBytes = 120;
/** Number of lines at the start of a page with a block each: at usual rates, a check can name the changed line. */
const singleLines = 16;
/** Maximum number of written pages kept for reuse. More would burden the garbage collector. */
const maxSpares = 8;

const seqMember = Buffer.from('{"seq":');
const previousMember = Buffer.from(',"previous":"');
const [quote, comma, brace, lineFeed] = [0x22, 0x2c, 0x7d, 0x0a];

type PagesOptions = {
  readonly maxPages: number;
  /** Returns the maximum size of a file, which also bounds a page. Read for each page, so that a reload applies. */
  readonly maxFileBytes: () => number;
};

/**
 * Creates the queue of lines to be written, chained and as bytes. Thousands of waiting strings would survive the young
 * generation and burden the garbage collector.
 */
export function createPages(end: Position, { maxPages, maxFileBytes }: PagesOptions) {
  const pages: LinePage[] = [];
  const spares: Buffer[] = [];
  let { seq } = end;
  /** Hash of the last finished block. */
  let previous = end.hash;

  function endBlock({ bytes, blockAt, length }: LinePage): void {
    previous = hashOf(bytes.subarray(blockAt, length - 1));
  }

  /** Closes a page, so that the next line starts another page. Only the newest page is open. */
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

  /** Starts a block with the current line: writes the hash of the previous block, and returns the position after it. */
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
    /** Adds a line whose members have at most `maxBytes`. Returns false if the queue is full. */
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
    /** True if a full page waits to be written. */
    get hasFullPage(): boolean {
      return pages.length > 1;
    },
    /** Closes and returns the oldest page; undefined if there is none. With `onlyFull`, not the newest page. */
    seal(onlyFull = false): SealedPage | undefined {
      const [page] = pages;
      if (!page || (onlyFull && pages.length === 1)) return undefined;
      const { bytes, length } = page;
      return { bytes, length, last: close(page) };
    },
    /** Removes the oldest page, which has been written. */
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

/** True if the current line must start a new block. `lines`: number of lines before it in the page. */
const isLastOfBlock = ({ blockLines, blockAt, length }: LinePage, lines: number): boolean =>
  lines < singleLines || blockLines === maxBlockLines || length - blockAt > maxBlockBytes;

export type Pages = ReturnType<typeof createPages>;
