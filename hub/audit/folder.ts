import { type FileHandle, open, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreMissing, isObject, tryParseJson } from '#core';
import { type Position, hashOf, maxBlockLines, parseLine } from './chain.ts';

/** A file of the audit log. `firstSeq`, the number of its first line, is part of its name. */
type AuditFile = { readonly path: string; readonly firstSeq: number };

const namePattern = /^audit-(\d{12})\.jsonl$/;

export const pathOf = (folder: string, firstSeq: number): string =>
  join(folder, `audit-${String(firstSeq).padStart(12, '0')}.jsonl`);

/** Returns the log files of a folder, the oldest first; none if the folder does not exist. */
export async function listFiles(folder: string): Promise<readonly AuditFile[]> {
  const names = await readdir(folder).catch(ignoreMissing);
  return (names ?? [])
    .flatMap(name => {
      const digits = namePattern.exec(name)?.[1];
      return digits === undefined ? [] : [{ path: join(folder, name), firstSeq: Number(digits) }];
    })
    .sort((one, other) => one.firstSeq - other.firstSeq);
}

/**
 * Path of the file with the position of the last synced line, which is written after each sync. A check compares it
 * with the log to notice lines that are missing at the end.
 */
export const headFileOf = (folder: string): string => join(folder, 'head');

/** Path of the file that reserves disk space, see `reserve.ts`. */
export const reserveFileOf = (folder: string): string => join(folder, 'reserve');

/** Returns the text of the head file. Its length is constant, so one write replaces it. */
export const headText = ({ seq, hash }: Position): string =>
  `{"seq":"${String(seq).padStart(12, '0')}","hash":"${hash}"}\n`;

/** Reads the position in the head file; undefined if the file is missing or damaged. */
export async function readHead(folder: string): Promise<Position | undefined> {
  const text = await readFile(headFileOf(folder), 'utf8').catch(ignoreMissing);
  const value = text === undefined ? undefined : tryParseJson(text);
  if (!isObject(value)) return undefined;
  const { seq, hash } = value;
  return typeof seq === 'string' && /^\d{12}$/.test(seq) && typeof hash === 'string'
    ? { seq: Number(seq), hash }
    : undefined;
}

const lineFeed = 0x0a;
/** Upper bound for the size of a line or a block, in bytes. */
const maxLineBytes = 64 * 1024;

/** Result of reading the end of a log file. */
type Tail = {
  /** Position of the last complete line; undefined if the file has none. */
  readonly last: Position | undefined;
  /** Size of the file up to the end of the last complete line, in bytes. */
  readonly size: number;
  /** Size of an incomplete last line, which a crash leaves, in bytes. */
  readonly tornBytes: number;
  /** Time in the first line, in ms since the epoch; undefined if the file has no complete line. */
  readonly beganAt: number | undefined;
};

/** Reads the end of a file. A damaged last line counts with its hash, and with `firstSeq` as its number. */
export async function readTail(handle: FileHandle, firstSeq: number): Promise<Tail> {
  const { size: all } = await handle.stat();
  const from = Math.max(0, all - 2 * maxLineBytes);
  const bytes = await readAt(handle, from, all - from);
  const end = bytes.lastIndexOf(lineFeed) + 1;
  const size = from + end;
  if (end === 0) return { last: undefined, size, tornBytes: all - size, beganAt: undefined };
  const lines = bytes.subarray(0, end - 1);
  const text = lines.subarray(lines.lastIndexOf(lineFeed) + 1);
  const head = await readAt(handle, 0, Math.min(all, maxLineBytes));
  const first = parseLine(head.toString('utf8', 0, head.indexOf(lineFeed)));
  const beganAt = first && Date.parse(first.at);
  return {
    last: {
      seq: parseLine(text.toString())?.seq ?? firstSeq,
      hash: hashOf(lines.subarray(blockStart(lines))),
    },
    size,
    tornBytes: all - size,
    beganAt: Number.isFinite(beganAt) ? beganAt : undefined,
  };
}

/** Returns the offset of the last block in these lines. The first line may be incomplete. */
function blockStart(lines: Buffer): number {
  let start = lines.length + 1;
  for (let count = 0; count < maxBlockLines && start > 0; count++) {
    const end = start - 1;
    start = lines.subarray(0, end).lastIndexOf(lineFeed) + 1;
    if (parseLine(lines.toString('utf8', start, end))?.previous !== undefined) break;
  }
  return start;
}

async function readAt(handle: FileHandle, position: number, length: number) {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

const chunkBytes = 64 * 1024;

/** Yields the complete lines of a file from the end, in groups, so that other work can run between two groups. */
export async function* readBackward(path: string): AsyncGenerator<readonly string[]> {
  const handle = await open(path).catch(ignoreMissing);
  // The file may have been removed by a rotation.
  if (!handle) return;
  try {
    let at = (await handle.stat()).size;
    let rest: Buffer = Buffer.alloc(0);
    let isTail = true;
    while (at > 0) {
      const length = Math.min(chunkBytes, at);
      at -= length;
      let bytes: Buffer = Buffer.concat([await readAt(handle, at, length), rest]);
      if (isTail) bytes = bytes.subarray(0, bytes.lastIndexOf(lineFeed) + 1);
      isTail &&= bytes.length === 0;
      const first = at === 0 ? 0 : bytes.indexOf(lineFeed) + 1;
      rest = bytes.subarray(0, first);
      yield bytes.toString('utf8', first).split('\n').slice(0, -1).reverse();
    }
  } finally {
    await handle.close();
  }
}

/** A line as bytes. `isTorn`: the file ends before its line feed. */
type RawLine = { readonly bytes: Buffer; readonly isTorn: boolean };

/** Yields the lines of a file from the beginning, in groups. */
export async function* readForward(path: string): AsyncGenerator<readonly RawLine[]> {
  const handle = await open(path);
  try {
    let rest: Buffer = Buffer.alloc(0);
    for (let at = 0; ;) {
      const read = await readAt(handle, at, chunkBytes);
      if (read.length === 0) break;
      at += read.length;
      const bytes: Buffer = Buffer.concat([rest, read]);
      const lines: RawLine[] = [];
      let start = 0;
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
        lines.push({ bytes: bytes.subarray(start, end), isTorn: false });
        start = end + 1;
      }
      rest = bytes.subarray(start);
      yield lines;
    }
    if (rest.length > 0) yield [{ bytes: rest, isTorn: true }];
  } finally {
    await handle.close();
  }
}
