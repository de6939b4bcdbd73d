import { endOf, keptBytes, withoutMark } from './lines.ts';

/** A server-sent event (HTML standard, section 9.2.6). */
type ServerEvent = {
  readonly type: string;
  /** The id field; undefined if the event has none. */
  readonly id: string | undefined;
  /** The data field. Multiple lines are joined by line breaks. Empty for an event with only an id. */
  readonly data: Buffer;
};

export type EventHandlers = {
  event(event: ServerEvent): void;
  /** Called for an event that exceeds the limit, with the start, the end and the length of its discarded data. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  retry(delayMs: number): void;
};

/** Length of `data: `. */
const fieldBytes = 6;
const empty = Buffer.alloc(0);
/** Number of lines of data that are joined to one buffer: each buffer takes about 100 bytes besides its content. */
const joinedLines = 1024;

/**
 * Parses server-sent events from chunks that may end anywhere, in linear time, without decoding the data. An event with
 * more than `maxBytes` of data is discarded while it arrives, in constant memory.
 */
export function createEventParser(options: { readonly maxBytes: number }, on: EventHandlers) {
  let parts: Buffer[] = [];
  let lineBytes = 0;
  let atStart = true;
  let afterReturn = false;
  let type = '';
  let id: string | undefined;
  let data: Buffer[] = [];
  /** Lines before those in `data`, joined. */
  let blocks: Buffer[] = [];
  let dataBytes = 0;
  let dropped: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined;
  /** True if the current line belongs to a discarded event. */
  let droppingLine = false;

  function drop(value: Buffer): void {
    const head = blocks[0] ?? data[0] ?? value;
    dropped ??= { head: Buffer.from(head.subarray(0, keptBytes)), tail: empty, bytes: dataBytes };
    dropped.bytes += value.length;
    dropped.tail = endOf(dropped.tail, value);
    clearData();
  }

  function clearData(): void {
    data = [];
    blocks = [];
    dataBytes = 0;
  }

  function keep(part: Buffer): void {
    if (part.length === 0) return;
    lineBytes += part.length;
    if (droppingLine && dropped) {
      dropped.bytes += part.length;
      dropped.tail = endOf(dropped.tail, part);
      return;
    }
    parts.push(part);
    if (dataBytes + lineBytes <= options.maxBytes + fieldBytes) return;
    drop(fieldOf(Buffer.concat(parts, lineBytes)).value);
    parts = [];
    droppingLine = true;
  }

  function finishLine(part: Buffer): void {
    keep(part);
    const wasEmpty = lineBytes === 0;
    const line = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    const whole = !droppingLine;
    parts = [];
    lineBytes = 0;
    droppingLine = false;
    if (wasEmpty) dispatch();
    else if (whole) take(fieldOf(atStart ? withoutMark(line) : line));
    atStart = false;
  }

  function take({ name, value }: Field): void {
    if (name === 'data') {
      if (dropped) return drop(value);
      data.push(value);
      dataBytes += value.length + 1;
      if (data.length < joinedLines) return;
      blocks.push(joined(data));
      data = [];
    } else if (name === 'event') type = value.toString();
    else if (name === 'id' && !value.includes(0)) id = value.toString();
    else if (name === 'retry' && /^\d{1,9}$/.test(value.toString())) on.retry(Number(value));
  }

  function dispatch(): void {
    if (dropped) on.oversized(dropped.head, dropped.tail, dropped.bytes);
    else if (data.length > 0 || blocks.length > 0 || id !== undefined)
      on.event({ type: type || 'message', id, data: joined([...blocks, ...data]) });
    type = '';
    id = undefined;
    clearData();
    dropped = undefined;
  }

  return {
    /** Parses a chunk, and takes ownership of it. */
    push(chunk: Buffer): void {
      // Lines end in LF, CR or CRLF. Remembers the next position of each, so many short lines in a large chunk do not
      // cause a search of the whole chunk per line.
      let from = afterReturn && chunk[0] === 0x0a ? 1 : 0;
      if (chunk.length > 0) afterReturn = false;
      let feed = next(chunk, 0x0a, from);
      let back = next(chunk, 0x0d, from);
      while (feed < chunk.length || back < chunk.length) {
        const end = Math.min(feed, back);
        finishLine(chunk.subarray(from, end));
        from = end + 1;
        if (end === back) {
          if (from === chunk.length) afterReturn = true;
          else if (chunk[from] === 0x0a) from++;
        }
        if (feed < from) feed = next(chunk, 0x0a, from);
        if (back < from) back = next(chunk, 0x0d, from);
      }
      if (from < chunk.length) keep(chunk.subarray(from));
    },
  };
}

type Field = { readonly name: string; readonly value: Buffer };

function fieldOf(line: Buffer): Field {
  const colon = line.indexOf(0x3a);
  if (colon < 0) return { name: line.toString('latin1', 0, keptBytes), value: empty };
  const from = line[colon + 1] === 0x20 ? colon + 2 : colon + 1;
  return {
    name: line.toString('latin1', 0, Math.min(colon, keptBytes)),
    value: line.subarray(from),
  };
}

function next(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at < 0 ? chunk.length : at;
}

function joined(lines: readonly Buffer[]): Buffer {
  const [first = empty, ...others] = lines;
  if (others.length === 0) return first;
  return Buffer.concat([first, ...others.flatMap(line => [newline, line])]);
}
const newline = Buffer.from('\n');
