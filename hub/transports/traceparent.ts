import type { IncomingHttpHeaders } from 'node:http';

/** The header of W3C Trace Context; undefined where there is none. */
export function traceparentOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? traceparent : undefined;
}
