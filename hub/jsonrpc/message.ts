import { isUtf8 } from 'node:buffer';
import { type Span, skipSpace, skipString, skipValue } from './scan.ts';
import { elementsOf, holds, rawText, textOf } from './spans.ts';

/**
 * A JSON-RPC message: the original bytes, with its envelope as spans. Payloads (`params`, `result`, `error`) are
 * validated as JSON, but not parsed. The bytes contain no line breaks, so they can be framed as lines and as
 * server-sent events.
 */
export type Message = Request | Notification | Answer;

type Common = { readonly bytes: Buffer };
export type Request = Common & {
  readonly kind: 'request';
  readonly id: Span;
  readonly method: string;
  readonly params: Span | undefined;
};
export type Notification = Common & {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: Span | undefined;
};
/** A result or an error. An error in response to an unreadable request has no id. */
export type Answer = Common & {
  readonly kind: 'answer';
  readonly id: Span | undefined;
  readonly failed: boolean;
  readonly payload: Span;
};

/** Bytes that are not a JSON-RPC message: invalid JSON, or JSON of another structure. */
export type Malformed = {
  readonly kind: 'malformed';
  readonly cause: 'not_json' | 'not_json_rpc';
  readonly detail: string;
};

const malformed = (cause: Malformed['cause'], detail: string): Malformed => ({
  kind: 'malformed',
  cause,
  detail,
});

/** Maximum number of messages in a batch: each message uses memory before the first is answered. */
const maxBatch = 1000;

/** Reads a message, and takes ownership of the buffer: line breaks in it become spaces. */
export function readMessage(bytes: Buffer): Message | Malformed {
  if (!isUtf8(bytes)) return malformed('not_json', 'the bytes are not UTF-8');
  return readEnvelope(bytes);
}

/** Reads a message that must be an answer. Throws a TypeError for any other message, which is a bug. */
export function readAnswer(bytes: Buffer): Answer {
  const message = readMessage(bytes);
  if (message.kind !== 'answer') throw new TypeError('an answer was expected');
  return message;
}

/**
 * Reads a message or a batch (JSON-RPC 2.0 section 6, in MCP until 2025-03-26). Invalid JSON counts as one malformed
 * message.
 */
export function readMessages(bytes: Buffer): {
  readonly batch: boolean;
  readonly messages: readonly (Message | Malformed)[];
} {
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== 0x5b) return { batch: false, messages: [readMessage(bytes)] };
  const refused = (cause: Malformed['cause'], detail: string) => ({
    batch: true,
    messages: [malformed(cause, detail)],
  });
  const end = isUtf8(bytes) ? skipValue(bytes, start) : -1;
  if (end < 0 || skipSpace(bytes, end) !== bytes.length)
    return refused('not_json', 'the batch is not JSON');
  const elements = elementsOf(bytes, { start, end }, maxBatch + 1);
  if (elements.length === 0) return refused('not_json_rpc', 'the batch is empty');
  if (elements.length > maxBatch)
    return refused('not_json_rpc', `the batch has more than ${maxBatch} messages`);
  return {
    batch: true,
    messages: elements.map(element => readEnvelope(bytes.subarray(element.start, element.end))),
  };
}

/**
 * Returns the same text for names that differ only in case, or in letters such as `ſ` that Unicode folds into ASCII.
 */
const fold = (name: string): string => name.toLowerCase().toUpperCase();

/**
 * Creates a function that returns which of the names a similar name could be read as, such as `params` for `Params`:
 * Go's encoding/json ignores case. Undefined for the names themselves, and for names that are not similar.
 */
export function createLookalikes(names: readonly string[]): (name: string) => string | undefined {
  const own = new Set(names);
  const byFold = new Map(names.map(name => [fold(name), name]));
  return name => (own.has(name) ? undefined : byFold.get(fold(name)));
}

const lookalikeIn = createLookalikes(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);

function readEnvelope(bytes: Buffer): Message | Malformed {
  const start = skipSpace(bytes, 0);
  if (bytes[start] !== 0x7b) {
    const end = skipValue(bytes, start);
    return end > 0 && skipSpace(bytes, end) === bytes.length
      ? malformed('not_json_rpc', 'a message is a JSON object')
      : malformed('not_json', 'the bytes are not JSON');
  }
  let version: Span | undefined;
  let id: Span | undefined;
  let method: Span | undefined;
  let params: Span | undefined;
  let result: Span | undefined;
  let error: Span | undefined;
  let twice: string | undefined;
  let unlike: string | undefined;
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] !== 0x7d) {
    for (;;) {
      const key = at;
      at = bytes[at] === 0x22 ? skipString(bytes, at) : -1;
      if (at < 0) return malformed('not_json', 'the bytes are not JSON');
      const name = textOf(bytes, key, at);
      at = skipSpace(bytes, at);
      if (bytes[at] !== 0x3a) return malformed('not_json', 'the bytes are not JSON');
      const valueStart = skipSpace(bytes, at + 1);
      at = skipValue(bytes, valueStart, 1);
      if (at < 0) return malformed('not_json', 'the bytes are not JSON');
      const value = { start: valueStart, end: at };
      switch (name) {
        case 'jsonrpc':
          if (version) twice = name;
          version = value;
          break;
        case 'id':
          if (id) twice = name;
          id = value;
          break;
        case 'method':
          if (method) twice = name;
          method = value;
          break;
        case 'params':
          if (params) twice = name;
          params = value;
          break;
        case 'result':
          if (result) twice = name;
          result = value;
          break;
        case 'error':
          if (error) twice = name;
          error = value;
          break;
        default:
          if (lookalikeIn(name) !== undefined) unlike = name;
      }
      at = skipSpace(bytes, at);
      if (bytes[at] === 0x7d) break;
      if (bytes[at] !== 0x2c) return malformed('not_json', 'the bytes are not JSON');
      at = skipSpace(bytes, at + 1);
    }
  }
  const end = at + 1;
  if (skipSpace(bytes, end) !== bytes.length)
    return malformed('not_json', 'more follows after the message');
  // Only after the scan, which refuses line breaks within strings: these must not become spaces.
  flatten(bytes);
  if (twice !== undefined) return malformed('not_json_rpc', `"${twice}" stands twice`);
  if (unlike !== undefined)
    return malformed(
      'not_json_rpc',
      `"${unlike}" is not "${lookalikeIn(unlike)}", and some readers take it for that`,
    );
  if (!version || !holds(bytes, version.start, version.end, '"2.0"'))
    return malformed('not_json_rpc', '"jsonrpc" must be "2.0"');
  if (id && !isId(bytes, id)) {
    // Only an error may have the id null: the id of its request was unreadable.
    if (!error || rawText(bytes, id) !== 'null')
      return malformed('not_json_rpc', '"id" must be a string or an integer');
    id = undefined;
  }
  if (method) {
    if (result || error) return malformed('not_json_rpc', 'both a request and an answer');
    if (bytes[method.start] !== 0x22) return malformed('not_json_rpc', '"method" must be a string');
    if (params && bytes[params.start] !== 0x7b)
      return malformed('not_json_rpc', '"params" must be an object');
    const name = textOf(bytes, method.start, method.end);
    return id
      ? { kind: 'request', bytes, id, method: name, params }
      : { kind: 'notification', bytes, method: name, params };
  }
  const payload = result ?? error;
  if (!payload || (result && error) || (!id && !error))
    return malformed('not_json_rpc', 'neither a request, a notification nor an answer');
  return { kind: 'answer', bytes, id, failed: error !== undefined, payload };
}

/** Replaces line breaks by spaces. In valid JSON, line breaks occur only between tokens. */
function flatten(bytes: Buffer): void {
  for (const lineBreak of [0x0a, 0x0d]) {
    let at = bytes.indexOf(lineBreak);
    while (at >= 0) {
      bytes[at] = 0x20;
      at = bytes.indexOf(lineBreak, at + 1);
    }
  }
}

/** True for a string or an integer: MCP allows no other ids. */
function isId(bytes: Buffer, id: Span): boolean {
  if (bytes[id.start] === 0x22) return true;
  for (let at = id.start; at < id.end; at++) {
    const byte = bytes[at] ?? 0;
    if ((byte < 0x30 || byte > 0x39) && !(byte === 0x2d && at === id.start)) return false;
  }
  return true;
}
