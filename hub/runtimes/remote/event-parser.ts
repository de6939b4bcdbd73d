/** One event of a stream, as the HTML standard has it (section 9.2.6). */
export type ServerEvent = {
  /** `message` where the stream names none. */
  readonly type: string;
  /** Only where this event carries one. */
  readonly id: string | undefined;
  /** Lines are joined by a line break. Empty where the event has only an id. */
  readonly data: Buffer;
};

type EventHandlers = {
  event(event: ServerEvent): void;
  /** An event above the bound, whose data was discarded: both its ends and its length. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  /** How long the server wants a client to wait before it connects again. */
  retry(delayMs: number): void;
};

/** How much of each end of an event above the bound is kept, to find out which call it answers. */
const keptBytes = 1024;
/** `data: ` before the data itself. */
const fieldBytes = 6;
const empty = Buffer.alloc(0);

/**
 * Reads server-sent events from bytes that are cut anywhere, in linear time. The data is never
 * decoded. An event with more than `maxBytes` of it is discarded as it arrives, in constant memory.
 */
export function createEventParser(options: { readonly maxBytes: number }, on: EventHandlers) {
  let parts: Buffer[] = [];
  let lineBytes = 0;
  let atStart = true;
  let afterReturn = false;
  let type = '';
  let id: string | undefined;
  let data: Buffer[] = [];
  let dataBytes = 0;
  let dropped: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined;
  /** The line that is being read is part of what is discarded. */
  let droppingLine = false;

  function drop(value: Buffer): void {
    const head = data[0] ?? value;
    dropped ??= { head: Buffer.from(head.subarray(0, keptBytes)), tail: empty, bytes: dataBytes };
    dropped.bytes += value.length;
    dropped.tail = endOf(dropped.tail, value);
    data = [];
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
    } else if (name === 'event') type = value.toString();
    else if (name === 'id' && !value.includes(0)) id = value.toString();
    else if (name === 'retry' && /^\d{1,9}$/.test(value.toString())) on.retry(Number(value));
  }

  function dispatch(): void {
    if (dropped) on.oversized(dropped.head, dropped.tail, dropped.bytes);
    else if (data.length > 0 || id !== undefined)
      on.event({ type: type || 'message', id, data: joined(data) });
    type = '';
    id = undefined;
    data = [];
    dataBytes = 0;
    dropped = undefined;
  }

  return {
    /** The chunk's memory belongs to the parser from here on. */
    push(chunk: Buffer): void {
      // A line ends in LF, CR or CRLF. Each is looked for once, so that many short lines in a large
      // chunk do not cost a search through all of it every time.
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

/** A stream may begin with a byte order mark. */
function withoutMark(line: Buffer): Buffer {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}

function endOf(before: Buffer, part: Buffer): Buffer {
  return part.length >= keptBytes
    ? Buffer.from(part.subarray(-keptBytes))
    : Buffer.concat([before, part]).subarray(-keptBytes);
}
