import type { IncomingMessage } from 'node:http';

/** As much of a request as the transports look at. Node's own has it. */
export type HttpRequest = Pick<IncomingMessage, 'method' | 'headers'>;

type Headers = Readonly<Record<string, string | number>>;

/** As much of a response as the transports use, with the meaning that Node's `ServerResponse` gives it. */
export interface HttpResponse {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  /** Bytes that the client has not taken yet. */
  readonly writableLength: number;
  writeHead(status: number, headers?: Headers): Pick<HttpResponse, 'end'>;
  flushHeaders(): void;
  write(chunk: Buffer | string): boolean;
  end(chunk?: Buffer): unknown;
  cork(): void;
  uncork(): void;
  /** Calls `stalled` when nothing moved on the connection for `delayMs`. */
  setTimeout(delayMs: number, stalled: () => void): unknown;
  destroy(): unknown;
  on(event: 'close', listener: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}
