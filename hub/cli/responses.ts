import type { IncomingMessage } from 'node:http';
import { HubError, isObject } from '#core';
import { createEventParser } from '#jsonrpc';

/** An object in a response of a hub. */
export type Described = { readonly [key: string]: unknown };

/** Returns the fields of an object in a response; empty for any other value. */
export const fieldsOf = (value: unknown): Described => (isObject(value) ? value : {});

/** Returns the objects of a list in a response; empty for any other value. */
export const objectsIn = (value: unknown): readonly Described[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** Returns the entries of a list in a response as texts; empty for any other value. */
export const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

/** Returns a string or a number in a response as a text; empty for any other value. */
export const scalarText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

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
  const events: HubEvent[] = [];
  const parser = createEventParser(
    { maxBytes },
    {
      event({ type, id, data }) {
        // An event that has only an id carries nothing.
        if (id === undefined || data.length > 0) events.push({ type, data: data.toString() });
      },
      oversized() {
        throw tooLong();
      },
      retry() {},
    },
  );
  for await (const chunk of chunksOf(answer)) {
    parser.push(chunk);
    yield* events.splice(0);
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
