import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { http } from '#core';
import type { HttpResponse } from '#transports';

export type PlainLink = {
  readonly socket: Socket;
  /** Returns the header lines that all responses have in common. */
  readonly commonLines: () => string;
  readonly answered: () => void;
  /**
   * Calls `stalled` if no bytes were sent for `delayMs` milliseconds; without `stalled`, closes the connection then.
   */
  readonly patience: (delayMs: number, stalled: (() => void) | undefined) => void;
};

type Headers = Readonly<Record<string, string | number>>;

/** Maximum size in bytes of a body that is sent in one buffer with the head. */
const maxJoinedBytes = 8 * 1024;
/** Matches characters that could end a header or the head. */
const unsafe = /[^\t\x20-\x7e]/;

/**
 * The response to a plain POST. A class, because creating closures for each call would take longer than the response
 * itself.
 */
export class PlainResponse implements HttpResponse {
  readonly #link: PlainLink;
  #closed: (() => void)[] | undefined;
  #isOver = false;
  #head = '';
  #isChunked = false;
  /** Writes that wait until earlier requests are answered; undefined after that. */
  #held: (() => void)[] | undefined;
  #heldBytes = 0;
  headersSent = false;

  constructor(link: PlainLink, isNext: boolean) {
    this.#link = link;
    this.#held = isNext ? undefined : [];
  }

  get destroyed(): boolean {
    return this.#isOver || this.#link.socket.destroyed;
  }

  get writableLength(): number {
    return this.#heldBytes + this.#link.socket.writableLength;
  }

  /** Throws TypeError for a header value with unsafe characters. */
  writeHead(status: number, headers: Headers = {}): this {
    let lines = '';
    for (const name in headers) {
      const value = headers[name];
      if (typeof value === 'string' && unsafe.test(value))
        throw new TypeError(`the header ${name} has a character that no header may have`);
      lines += `${name}: ${value}\r\n`;
    }
    this.#isChunked = !('content-length' in headers);
    this.#head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}\r\n${lines}`;
    this.headersSent = true;
    return this;
  }

  flushHeaders(): void {
    if (this.#held) return void this.#held.push(() => this.flushHeaders());
    this.#sendHead(this.#isChunked ? 'Transfer-Encoding: chunked\r\n' : '');
  }

  write(chunk: Buffer | string): boolean {
    if (this.destroyed) return false;
    if (this.#held) {
      this.#heldBytes += chunk.length;
      this.#held.push(() => this.write(chunk));
      return true;
    }
    this.flushHeaders();
    const { socket } = this.#link;
    if (!this.#isChunked) return socket.write(chunk);
    const length = Buffer.byteLength(chunk);
    // An empty chunk would end the body.
    if (length === 0) return true;
    socket.cork();
    socket.write(`${length.toString(16)}\r\n`, 'latin1');
    socket.write(chunk);
    const isTaken = socket.write('\r\n', 'latin1');
    socket.uncork();
    return isTaken;
  }

  end(chunk?: Buffer): void {
    if (this.destroyed) return;
    if (this.#held) {
      this.#heldBytes += chunk?.length ?? 0;
      return void this.#held.push(() => this.end(chunk));
    }
    const { socket } = this.#link;
    if (this.#head === '') {
      if (chunk) this.write(chunk);
      if (this.#isChunked) socket.write('0\r\n\r\n', 'latin1');
    } else this.#sendWhole(chunk);
    this.#over();
    this.#link.answered();
  }

  cork(): void {
    if (!this.#held) this.#link.socket.cork();
  }

  uncork(): void {
    if (!this.#held) this.#link.socket.uncork();
  }

  setTimeout(delayMs: number, stalled: () => void): void {
    if (this.#held) return void this.#held.push(() => this.setTimeout(delayMs, stalled));
    // The timeout of a complete response must not affect the next request.
    this.#link.patience(delayMs, this.#isOver ? undefined : stalled);
  }

  destroy(): void {
    this.#link.socket.destroy();
  }

  on(_event: 'close', listener: () => void): void {
    if (this.#isOver) return;
    (this.#closed ??= []).push(listener);
  }

  once(event: 'close', listener: () => void): void {
    this.on(event, listener);
  }

  /** Sends the waiting writes, because all earlier requests are answered. */
  takeTurn(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#heldBytes = 0;
    for (const send of held) send();
  }

  closed(): void {
    if (!this.#isOver) this.#over();
  }

  #over(): void {
    this.#isOver = true;
    const listeners = this.#closed ?? [];
    this.#closed = undefined;
    for (const listener of listeners) listener();
  }

  #sendHead(more: string): void {
    if (this.#head === '') return;
    this.#link.socket.write(`${this.#head}${this.#link.commonLines()}${more}\r\n`, 'latin1');
    this.#head = '';
  }

  /** Sends the head and body in one write. */
  #sendWhole(body: Buffer | undefined): void {
    const { socket } = this.#link;
    const length = body?.length ?? 0;
    const own = this.#isChunked ? `Content-Length: ${length}\r\n` : '';
    if (body && length <= maxJoinedBytes) {
      const head = `${this.#head}${this.#link.commonLines()}${own}\r\n`;
      // latin1 maps every byte to one character and back.
      socket.write(head + body.toString('latin1'), 'latin1');
      return;
    }
    socket.cork();
    this.#sendHead(own);
    if (body) socket.write(body);
    socket.uncork();
  }
}
