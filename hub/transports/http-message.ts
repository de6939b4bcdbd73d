import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Principal } from '#policy';
import type { Endpoint } from '#routing';

/** The members of a request that the transports use, as in Node. */
export type HttpRequest = Pick<IncomingMessage, 'method' | 'headers'>;

/** The members of a response that the transports use, with the meaning of Node's `ServerResponse`. */
export interface HttpResponse {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  /** Bytes that the client has not taken yet. */
  readonly writableLength: number;
  writeHead(
    status: number,
    headers?: Readonly<Record<string, string | number>>,
  ): Pick<HttpResponse, 'end'>;
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

/** A request to an MCP endpoint, from a principal that the guard admitted. Without its body, which is not kept. */
export type EndpointRequest = {
  readonly headers: IncomingHttpHeaders;
  readonly response: HttpResponse;
  readonly endpoint: Endpoint;
  readonly principal: Principal;
  readonly acceptsJson: boolean;
  readonly acceptsStream: boolean;
};

/** Reads the accepted media types of a request: all without the header. */
export function readRequest(
  { headers }: HttpRequest,
  response: HttpResponse,
  endpoint: Endpoint,
  principal: Principal,
): EndpointRequest {
  const accept = headers.accept ?? '*/*';
  const any = accept.includes('*/*');
  return {
    headers,
    response,
    endpoint,
    principal,
    acceptsJson: any || accept.includes('application/json') || accept.includes('application/*'),
    acceptsStream: any || accept.includes('text/event-stream') || accept.includes('text/*'),
  };
}

/** Whether Content-Type is JSON, which MCP requires of every POST. */
export function isJson({ 'content-type': type }: IncomingHttpHeaders): boolean {
  return type === 'application/json' || /^application\/json\s*(;|$)/i.test(type ?? '');
}

/** The header of W3C Trace Context. */
export function traceparentOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined;
}
