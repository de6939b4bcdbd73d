import { Buffer } from 'node:buffer';
import { tryParseJson, writeMilliseconds, writeShort, writeWhole } from '#core';
import type { CallSummary } from './call.ts';

/** Initial size of the buffer, for about 500 lines, in bytes. */
const usualBytes = 64 * 1024;
/** Maximum size of the numbers and commas of a line, in bytes. */
const maxOtherBytes = 160;

const [comma, open, close, lineFeed] = [0x2c, 0x5b, 0x5d, 0x0a];
const noText = Buffer.from('null');

/**
 * Creates a buffer of lines. A line is a JSON array, which does not repeat member names. Lines are written as bytes: a
 * busy hub writes thousands of calls each second, whose strings would burden the garbage collector.
 */
export function createCallLines(redact: (text: string) => string) {
  const redacted = createQuoted(redact);
  const plain = createQuoted(text => text);
  let bytes = Buffer.allocUnsafe(usualBytes);
  let used = 0;

  function makeRoom(lineBytes: number): void {
    if (used + lineBytes <= bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * bytes.length + lineBytes);
    bytes.copy(larger, 0, 0, used);
    bytes = larger;
  }

  function addText(text: Buffer): void {
    bytes[used++] = comma;
    used = writeShort(bytes, used, text);
  }

  function addTime(milliseconds: number): void {
    bytes[used++] = comma;
    used = writeMilliseconds(bytes, used, Math.max(0, milliseconds));
  }

  function addCount(count: number): void {
    bytes[used++] = comma;
    used = writeWhole(bytes, used, count);
  }

  return {
    add(call: CallSummary): void {
      const method = redacted(call.method);
      const name = redacted(call.name);
      const server = plain(call.server);
      const session = plain(call.session);
      const client = redacted(call.client);
      const outcome = plain(call.outcome);
      makeRoom(
        method.length +
          name.length +
          server.length +
          session.length +
          client.length +
          outcome.length +
          maxOtherBytes,
      );
      bytes[used++] = open;
      used = writeWhole(bytes, used, call.id);
      addTime(call.at);
      addText(method);
      addText(name);
      addText(server);
      addText(session);
      addText(client);
      addTime(call.tookMs);
      addTime(call.serverMs);
      addText(outcome);
      addCount(call.requestBytes);
      addCount(call.replyBytes);
      bytes[used++] = close;
      bytes[used++] = lineFeed;
    },
    /** Returns the lines since the previous `take`. Later lines overwrite them. */
    take(): Buffer {
      const lines = bytes.subarray(0, used);
      used = 0;
      return lines;
    },
  };
}

/** Returns a function that quotes texts and caches the results, as calls mostly share names and clients. */
function createQuoted(convert: (text: string) => string) {
  const known = new Map<string, Buffer>();
  return (text: string | undefined): Buffer => {
    if (text === undefined) return noText;
    let found = known.get(text);
    if (found === undefined) known.set(text, (found = Buffer.from(JSON.stringify(convert(text)))));
    return found;
  };
}

/** Parses a line; undefined if the line is incomplete or not a call. */
export function parseCall(line: string): CallSummary | undefined {
  const values = tryParseJson(line);
  if (!Array.isArray(values)) return undefined;
  const all: readonly unknown[] = values;
  const [id, at, method, name, server, session, client, tookMs, serverMs, outcome] = all;
  const [requestBytes, replyBytes] = all.slice(10);
  if (
    !isId(id) ||
    !isNumber(at) ||
    typeof method !== 'string' ||
    typeof session !== 'string' ||
    typeof outcome !== 'string' ||
    !isNumber(tookMs) ||
    !isNumber(serverMs) ||
    !isNumber(requestBytes) ||
    !isNumber(replyBytes)
  )
    return undefined;
  const optional = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    id,
    at,
    method,
    name: optional(name),
    server: optional(server),
    session,
    client: optional(client),
    tookMs,
    serverMs,
    outcome,
    requestBytes,
    replyBytes,
  };
}

/** Upper bound for ids, so that a number in a damaged file cannot exhaust the ids. */
const maxId = 1e14;
const isId = (value: unknown): value is number => Number.isSafeInteger(value) && isIn(value, maxId);
/** True for a number in the range of dates up to the year 2255, which far exceeds the times and sizes of calls. */
const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value < Number.MAX_SAFE_INTEGER / 1000;
const isIn = (value: unknown, most: number) => Number(value) > 0 && Number(value) < most;
