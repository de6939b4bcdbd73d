/** Trace context of a client request, and when the request was sent to a server. */
export type Trace = {
  /** Trace id: 32 hexadecimal digits. */
  readonly traceId: string;
  /** Id of the client's span: 16 hexadecimal digits. Undefined if the trace starts at the hub. */
  readonly parentId: string | undefined;
  /** The `traceparent` header of the HTTP request, if the message itself names another parent. */
  readonly linked: Traceparent | undefined;
  /** Span ids of the hub's SERVER span and of its CLIENT span for the call to a server. */
  readonly serverSpanId: string;
  readonly clientSpanId: string;
  /** The `traceparent` sent to the server. Its parent is the CLIENT span. */
  readonly traceparent: string;
  readonly isSampled: boolean;
  /** The client's request id, as JSON text. */
  readonly requestId: string;
  readonly protocolVersion: string | undefined;
  /** When the request arrived, and when it was first sent to a server, in ms on the monotonic clock. */
  readonly beganMs: number;
  sentMs: number | undefined;
  /** Code of the JSON-RPC error in the response. Undefined for a result. */
  rpcCode: number | undefined;
};

/** Members of a request for its trace, collected where the request is parsed. */
type TracedRequest = Pick<Trace, 'requestId' | 'protocolVersion' | 'beganMs'> & {
  /** The `traceparent` in `params._meta`. `httpTraceparent` is that of the HTTP headers. */
  readonly traceparent: string | undefined;
  readonly httpTraceparent: string | undefined;
};

/** Creates the trace context of a request. */
export type Tracer = (request: TracedRequest) => Trace;

/** Parsed members of a W3C Trace Context `traceparent`. */
type Traceparent = Readonly<NonNullable<ReturnType<typeof parseTraceparent>>>;

/** Returns true if a trace is exported. `parent` is undefined if the trace starts at the hub. */
export type Sampling = (traceId: string, parent: Traceparent | undefined) => boolean;

const traceparentPattern =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Parses a `traceparent`; undefined if it is invalid: the request then starts a new trace. */
function parseTraceparent(text: string | undefined) {
  const [, version, traceId, spanId, flags = '', more] = traceparentPattern.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, isSampled: (parseInt(flags, 16) & 1) === 1 };
}

/** Creates a generator of random hexadecimal ids, which fetches random bytes in blocks of 4 KB. */
export function createHex(fill: (bytes: Buffer) => void): (bytes: number) => string {
  const pool = Buffer.alloc(4096);
  let at = pool.length;
  return bytes => {
    if (at + bytes > pool.length) {
      fill(pool);
      at = 0;
    }
    at += bytes;
    return pool.toString('hex', at - bytes, at);
  };
}

/** Creates a tracer. `hex(n)` returns n random bytes as hexadecimal digits. */
export function createTracer(sampling: Sampling, hex: (bytes: number) => string): Tracer {
  return ({ traceparent, httpTraceparent, requestId, protocolVersion, beganMs }) => {
    const fromMessage = parseTraceparent(traceparent);
    const fromHttp = parseTraceparent(httpTraceparent);
    const parent = fromMessage ?? fromHttp;
    const traceId = parent?.traceId ?? hex(16);
    const clientSpanId = hex(8);
    const isSampled = sampling(traceId, parent);
    return {
      traceId,
      parentId: parent?.spanId,
      linked:
        fromMessage && fromHttp && fromMessage.spanId !== fromHttp.spanId ? fromHttp : undefined,
      serverSpanId: hex(8),
      clientSpanId,
      traceparent: `00-${traceId}-${clientSpanId}-${isSampled ? '01' : '00'}`,
      isSampled,
      requestId,
      protocolVersion,
      beganMs,
      sentMs: undefined,
      rpcCode: undefined,
    };
  };
}
