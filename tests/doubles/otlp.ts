import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

const attribute = z.object({
  key: z.string(),
  value: z.object({
    stringValue: z.string().optional(),
    intValue: z.union([z.string(), z.number()]).optional(),
    doubleValue: z.number().optional(),
    boolValue: z.boolean().optional(),
  }),
});
const span = z.object({
  traceId: z.string().regex(/^[\da-f]{32}$/),
  spanId: z.string().regex(/^[\da-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes: z.array(attribute),
  status: z.object({ code: z.number().optional(), message: z.string().optional() }),
  links: z.array(z.object({ spanId: z.string() })).default([]),
});
const traces = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeSpans: z.array(z.object({ spans: z.array(span) })),
    }),
  ),
});
const metrics = z.object({
  resourceMetrics: z.array(
    z.object({
      scopeMetrics: z.array(z.object({ metrics: z.array(z.looseObject({ name: z.string() })) })),
    }),
  ),
});

export type ReceivedSpan = Omit<z.infer<typeof span>, 'attributes'> & {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
};

/** A receiver of OTLP/HTTP with JSON. It validates bodies by the specification and refuses anything else. */
export type OtlpReceiver = AsyncDisposable & {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Last value of each metric, by name. */
  readonly metrics: ReadonlyMap<string, object>;
  /** All bodies, unparsed. */
  readonly bodies: readonly string[];
  /** Headers of the newest request. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Number of requests so far, including those that are not answered. */
  readonly requests: number;
};

/** Starts a receiver. `behaviour`: it answers, keeps connections open without an answer, or refuses with 503. */
export async function startOtlp(
  behaviour: 'answers' | 'hangs' | 'refuses' = 'answers',
): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const byName = new Map<string, object>();
  const bodies: string[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  let requests = 0;

  function receive(path: string | undefined, body: string): void {
    const parsed: unknown = JSON.parse(body);
    if (path === '/v1/traces')
      for (const { resource, scopeSpans } of traces.parse(parsed).resourceSpans)
        for (const one of scopeSpans.flatMap(scope => scope.spans))
          spans.push({
            ...one,
            attributes: valuesOf(one.attributes),
            resource: valuesOf(resource.attributes),
          });
    else if (path === '/v1/metrics')
      for (const { scopeMetrics } of metrics.parse(parsed).resourceMetrics)
        for (const one of scopeMetrics.flatMap(scope => scope.metrics)) byName.set(one.name, one);
    else throw new Error(`nothing is received at ${path}`);
  }

  const server = createServer((request, response) => {
    requests++;
    ({ headers } = request);
    if (behaviour === 'hangs') return;
    const received = text(request).then(body => {
      bodies.push(body);
      if (behaviour === 'refuses') return response.writeHead(503).end();
      receive(request.url, body);
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    // The body is invalid, or the sender disconnected while it was read.
    received.catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const address: AddressInfo | string | null = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    metrics: byName,
    bodies,
    get headers() {
      return headers;
    },
    get requests() {
      return requests;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

const valuesOf = (attributes: readonly z.infer<typeof attribute>[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
