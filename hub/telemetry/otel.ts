import type { Clock, Log, Part } from '#core';
import type { Family } from './exposition.ts';
import { type Operation, createOperations, producerOf } from './otel-metrics.ts';
import { type Finished, createSpans } from './otel-spans.ts';
import type { Redaction } from './redact.ts';
import { type Sampling, type Tracer, createHex, createTracer } from './trace.ts';

/** Where traces and metrics are sent, and how. */
export type OtlpOptions = {
  /** Undefined: no traces are sent. */
  readonly tracesUrl: string | undefined;
  /** Undefined: no metrics are sent. */
  readonly metricsUrl: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How often metrics are sent, and how long spans are gathered. */
  readonly intervalMs: number;
  readonly gatherMs: number;
  readonly sampler: {
    readonly root: 'always_on' | 'always_off' | 'traceidratio';
    readonly isParentBased: boolean;
    readonly ratio: number;
  };
  readonly resource: Readonly<Record<string, string>>;
};

export type OtlpNeeds = {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  readonly log: Log;
  /** Fills it with random bytes. */
  readonly fill: (bytes: Buffer) => void;
  /** All that the hub measures. */
  readonly families: () => Promise<readonly Family[]>;
  readonly redaction: Redaction;
  /** Of the hub. */
  readonly version: string;
};

/** Sends what the hub does to where OpenTelemetry is collected. Never holds and never ends the hub. */
export interface Otlp extends Part {
  /** Undefined where no traces are sent. */
  readonly tracer: Tracer | undefined;
  /** Tells of a request that was answered. Must not be slow: spans wait in a queue that has an end. */
  record(call: Finished & Operation): void;
}

/** How long the hub waits for what is not sent yet when it stops. */
const stopMs = 2_000;
/** An endpoint that is away is told of once in this time. */
const silenceMs = 60_000;

/** Loads OpenTelemetry, which a hub without an endpoint has no use for. */
export async function createOtlp(options: OtlpOptions, needs: OtlpNeeds): Promise<Otlp> {
  const { clock, log } = needs;
  const [api, core, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
  ]);
  let toldMs = -Infinity;
  const tell = (fields: object, message: string) => {
    if (clock.monotonic() - toldMs < silenceMs) return;
    toldMs = clock.monotonic();
    log.warn(fields, message);
  };
  const failed = (error: unknown) =>
    tell({ error }, 'traces or metrics could not be sent: the endpoint of OpenTelemetry is away');
  core.setGlobalErrorHandler(failed);
  const ignore = () => {};
  const diagnosed = (said: string) =>
    tell({ said }, 'OpenTelemetry left something out. Set OTEL_TRACES_SAMPLER to send less');
  api.diag.setLogger(
    { verbose: ignore, debug: ignore, info: ignore, warn: diagnosed, error: diagnosed },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const resource = resourceFromAttributes({ ...options.resource });
  const scope = { name: 'agenthub', version: needs.version };
  const connection = { headers: { ...options.headers }, timeoutMillis: options.timeoutMs };
  const spans = options.tracesUrl === undefined ? undefined : await openSpans(options.tracesUrl);
  const meters =
    options.metricsUrl === undefined ? undefined : await openMeters(options.metricsUrl);

  async function openSpans(url: string) {
    const [{ BatchSpanProcessor, TraceIdRatioBasedSampler }, { OTLPTraceExporter }] =
      await Promise.all([
        import('@opentelemetry/sdk-trace'),
        import('@opentelemetry/exporter-trace-otlp-http'),
      ]);
    const exporter = new OTLPTraceExporter({ ...connection, url });
    const processor = new BatchSpanProcessor({
      exporter,
      exportTimeoutMillis: options.timeoutMs,
      scheduledDelayMillis: options.gatherMs,
    });
    const { root, isParentBased, ratio } = options.sampler;
    const share = new TraceIdRatioBasedSampler(ratio);
    const begins = (traceId: string) =>
      root === 'traceidratio'
        ? share.shouldSample(api.ROOT_CONTEXT, traceId).decision > 0
        : root === 'always_on';
    const sampling: Sampling = (traceId, parent) =>
      isParentBased && parent ? parent.isSampled : begins(traceId);
    return {
      tracer: createTracer(sampling, createHex(needs.fill)),
      record: createSpans(span => processor.onEnd(span), { resource, scope, ...needs }),
      stop: () => processor.shutdown(),
    };
  }

  async function openMeters(url: string) {
    const [{ MeterProvider, PeriodicExportingMetricReader }, { OTLPMetricExporter }] =
      await Promise.all([
        import('@opentelemetry/sdk-metrics'),
        import('@opentelemetry/exporter-metrics-otlp-http'),
      ]);
    const { intervalMs, timeoutMs } = options;
    const operations = createOperations();
    const families = async () => [...operations.families(), ...(await needs.families())];
    const reader = new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter({ ...connection, url }),
      exportIntervalMillis: intervalMs,
      exportTimeoutMillis: Math.min(timeoutMs, intervalMs),
      metricProducers: [producerOf(families, { resource, scope, clock })],
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    return {
      record: operations.record,
      stop: () => provider.shutdown(),
    };
  }

  return {
    name: 'telemetry',
    tracer: spans?.tracer,
    record(call) {
      spans?.record(call);
      meters?.record(call);
    },
    async start() {},
    async stop() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = clock.after(stopMs, resolve);
      const sent = Promise.all([spans?.stop(), meters?.stop()]);
      await Promise.race([sent.catch(failed), promise]);
      timer[Symbol.dispose]();
    },
  };
}
