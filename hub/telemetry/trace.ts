/** Where a request of a client stands among traces, and when it was sent on. */
export type Trace = {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The span of the client that it is part of, 16 hexadecimal digits; undefined where a trace begins with it. */
  readonly parentId: string | undefined;
  /** The `traceparent` of the HTTP request that it came in, where its own says another. */
  readonly linked: Traceparent | undefined;
  /** The hub's span of the request, and that of the part which a server has. */
  readonly serverSpanId: string;
  readonly clientSpanId: string;
  /** What the server is told: the span at it is the parent of whatever it does. */
  readonly traceparent: string;
  readonly isSampled: boolean;
  /** The client's id of the request, as JSON text. */
  readonly requestId: string;
  readonly protocolVersion: string | undefined;
  /** When it began, and was first sent to a server, in milliseconds on the monotonic clock. */
  readonly beganMs: number;
  sentMs: number | undefined;
  /** The code of the JSON-RPC error that it was answered with; undefined for a result. */
  rpcCode: number | undefined;
};

/** What is told of a request where it is read. */
export type Traced = Pick<Trace, 'requestId' | 'protocolVersion' | 'beganMs'> & {
  /** The `traceparent` in `params._meta`, and the one in the headers of the HTTP request. */
  readonly traceparent: string | undefined;
  readonly httpTraceparent: string | undefined;
};

/** Gives each request its place in a trace. */
export type Tracer = (request: Traced) => Trace;

/** The parts of a `traceparent` of W3C Trace Context that are of use. */
export type Traceparent = {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
};

/** Decides whether a trace is exported. `parent` is undefined where it begins here. */
export type Sampling = (traceId: string, parent: Traceparent | undefined) => boolean;

const form =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Undefined for what is no `traceparent`: whoever reads one begins a new trace then. */
export function parseTraceparent(text: string | undefined): Traceparent | undefined {
  const [, version, traceId, spanId, flags = '', more] = form.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, isSampled: (parseInt(flags, 16) & 1) === 1 };
}

/** So many random bytes as hexadecimal digits: they are made for many ids at a time. */
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

/** `hex` gives so many random bytes as hexadecimal digits. */
export function createTracer(sampling: Sampling, hex: (bytes: number) => string): Tracer {
  return ({ traceparent, httpTraceparent, requestId, protocolVersion, beganMs }) => {
    const told = parseTraceparent(traceparent);
    const around = parseTraceparent(httpTraceparent);
    const parent = told ?? around;
    const traceId = parent?.traceId ?? hex(16);
    const clientSpanId = hex(8);
    const isSampled = sampling(traceId, parent);
    return {
      traceId,
      parentId: parent?.spanId,
      linked: told && around && told.spanId !== around.spanId ? around : undefined,
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
