import type { IncomingMessage } from 'node:http';
import { HubError, isObject } from '#core';

/** An object in a response of a hub. */
export type Described = { readonly [key: string]: unknown };

/** Returns the fields of an object in a response; empty for any other value. */
export const fieldsOf = (value: unknown): Described => (isObject(value) ? value : {});

/** Returns the objects of a list in a response; empty for any other value. */
export const objectsIn = (value: unknown): readonly Described[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** Formats the token cost in an answer of `GET /tools`, or in a part of it. */
export const tokensOf = (counted: Described | undefined): string =>
  typeof counted?.['tokens'] === 'number' ? String(counted['tokens']) : 'unknown';

export type HubEvent = {
  /** Type of the event; `message` if the hub sends no type. */
  readonly type: string;
  /** Data of the event. Several data lines are joined with line breaks. */
  readonly data: string;
};

/** Maximum size of a body in bytes, which is the maximum length of a string in Node. */
const maxBytes = 512 * 2 ** 20;

/** Reads a body as text. Rejects with HUB_BODY_TOO_LARGE, or with HUB_CONNECT_FAILED if the connection breaks. */
export async function readWhole(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(answer)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Yields the server-sent events of a body as they arrive. Rejects with HUB_BODY_TOO_LARGE, or with HUB_CONNECT_FAILED
 * if the connection breaks.
 */
export async function* readEvents(answer: IncomingMessage): AsyncIterable<HubEvent> {
  let type = 'message';
  let data: string[] = [];
  for await (const line of linesOf(answer)) {
    if (line === '') {
      if (data.length > 0) yield { type, data: data.join('\n') };
      type = 'message';
      data = [];
      continue;
    }
    const [, name, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') type = value;
    if (name === 'data') data.push(value);
  }
}

async function* linesOf(answer: IncomingMessage): AsyncIterable<string> {
  let rest: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(answer)) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      const line = Buffer.concat([...rest, chunk.subarray(start, end)]).toString();
      yield line.endsWith('\r') ? line.slice(0, -1) : line;
      rest = [];
      bytes = 0;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > maxBytes) throw tooLong();
  }
}

async function* chunksOf(answer: IncomingMessage): AsyncIterable<Buffer> {
  try {
    for await (const chunk of answer) yield Buffer.from(chunk);
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') throw error;
    throw new HubError(
      'HUB_CONNECT_FAILED',
      'the hub closed the connection in the middle of its response. See its log, or try again',
      { cause: error },
    );
  }
}

const tooLong = () =>
  new HubError('HUB_BODY_TOO_LARGE', `the hub answers with more than ${maxBytes} bytes`);
