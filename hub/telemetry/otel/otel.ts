import { waitAtMost } from '#core';
import type { Clock, Log } from '#core';
import type { MetricFamily } from '../exposition.ts';
import type { Redaction } from '../redact.ts';
import { type Sampling, createHex, createTracer } from '../trace.ts';
import { createMetricProducer, createOperations } from './metrics.ts';
import { type FinishedCall, createSpans } from './spans.ts';

/** Endpoints and settings of the OTLP export. */
export type OtlpOptions = {
  /** Endpoint for traces; undefined if traces are not sent. */
  readonly tracesUrl: string | undefined;
  /** Endpoint for metrics; undefined if metrics are not sent. */
  readonly metricsUrl: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Interval of metric exports, in milliseconds. `gatherMs`: how long spans are batched. */
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
  /** Fills the buffer with random bytes. */
  readonly fill: (bytes: Buffer) => void;
  /** Returns all metrics of the hub. */
  readonly families: () => Promise<readonly MetricFamily[]>;
  readonly redaction: Redaction;
  /** Version of the hub. */
  readonly version: string;
};

/** Time that a stopping hub waits for the last export, in ms. */
const stopMs = 2_000;
/** Minimum interval between warnings about the export, in ms. */
const warningIntervalMs = 60_000;

/** Creates the OTLP exporter and imports its packages. A slow or failing endpoint never blocks or stops the hub. */
export async function createOtlpExporter(options: OtlpOptions, needs: OtlpNeeds) {
  const { clock, log } = needs;
  const [api, core, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
  ]);
  let warnedMs = -Infinity;
  const warnRarely = (fields: object, message: string) => {
    if (clock.monotonic() - warnedMs < warningIntervalMs) return;
    warnedMs = clock.monotonic();
    log.warn(fields, message);
  };
  const notSent = 'traces or metrics could not be sent: the OpenTelemetry endpoint does not answer';
  const onExportError = (error: unknown) => warnRarely({ error }, notSent);
  core.setGlobalErrorHandler(onExportError);
  const ignore = () => {};
  const dropped = 'OpenTelemetry dropped data. Set OTEL_TRACES_SAMPLER to send less';
  const warn = (said: string) => warnRarely({ said }, dropped);
  api.diag.setLogger(
    { verbose: ignore, debug: ignore, info: ignore, warn, error: warn },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const resource = resourceFromAttributes({ ...options.resource });
  const scope = { name: 'agenthub', version: needs.version };
  const connection = { headers: { ...options.headers }, timeoutMillis: options.timeoutMs };
  const { tracesUrl, metricsUrl } = options;
  const spans = tracesUrl === undefined ? undefined : await openSpans(tracesUrl);
  const meters = metricsUrl === undefined ? undefined : await openMeters(metricsUrl);

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
    const isRootSampled = (traceId: string) =>
      root === 'traceidratio'
        ? share.shouldSample(api.ROOT_CONTEXT, traceId).decision > 0
        : root === 'always_on';
    const sampling: Sampling = (traceId, parent) =>
      isParentBased && parent ? parent.isSampled : isRootSampled(traceId);
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
      metricProducers: [createMetricProducer(families, { resource, scope, clock })],
    });
    const provider = new MeterProvider({ resource, readers: [reader] });
    return { record: operations.record, stop: () => provider.shutdown() };
  }

  return {
    /** Undefined if traces are not sent. */
    tracer: spans?.tracer,
    /** Records an answered request. `principal` is a policy name. Returns at once: spans wait in a limited queue. */
    record(call: FinishedCall, principal: string): void {
      spans?.record(call, principal);
      meters?.record(call, principal);
    },
    async start() {},
    async stop() {
      const sent = Promise.all([spans?.stop(), meters?.stop()]).catch(onExportError);
      await waitAtMost(stopMs, sent, clock);
    },
  };
}
