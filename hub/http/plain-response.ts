import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import { http } from '#core';
import type { HttpResponse } from '#transports';

/** What a response needs of the connection that it is sent on. */
export type PlainLink = {
  readonly socket: Socket;
  /** The lines of the head that all responses have in common. */
  readonly commonLines: () => string;
  /** The response is complete, as far as the hub is concerned. */
  readonly answered: () => void;
  /**
   * How long nothing may move, in milliseconds, until `stalled` is called; without it, until what waits to be
   * sent is given up.
   */
  readonly patience: (delayMs: number, stalled: (() => void) | undefined) => void;
};

type Headers = Readonly<Record<string, string | number>>;

/** More than this is not copied to be sent in one piece with its head. */
const maxJoinedBytes = 8 * 1024;
/** What would end a header, or the head. */
const unsafe = /[^\t\x20-\x7e]/;

/**
 * The response to a plain POST. A class, unlike all else in the hub: each call has one, and functions of its
 * own would cost each more than all that they do.
 */
export class PlainResponse implements HttpResponse {
  readonly #link: PlainLink;
  #closed: (() => void)[] | undefined;
  #isOver = false;
  #head = '';
  #isChunked = false;
  /** What is to be sent when those before it are answered; undefined once they are. */
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

  /** Throws TypeError where a header holds what could pass for another. */
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
    // An empty chunk would be the last.
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
    // One that is complete has no say in what comes after it.
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

  /** Those before it are answered. */
  takeTurn(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#heldBytes = 0;
    for (const send of held) send();
  }

  /** The connection is gone. */
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

  /** All of a response of which nothing has left, in one write. */
  #sendWhole(body: Buffer | undefined): void {
    const { socket } = this.#link;
    const length = body?.length ?? 0;
    const own = this.#isChunked ? `Content-Length: ${length}\r\n` : '';
    if (body && length <= maxJoinedBytes) {
      const head = `${this.#head}${this.#link.commonLines()}${own}\r\n`;
      // Every byte is one character of this encoding, and comes out as it went in.
      socket.write(head + body.toString('latin1'), 'latin1');
      return;
    }
    socket.cork();
    this.#sendHead(own);
    if (body) socket.write(body);
    socket.uncork();
  }
}
