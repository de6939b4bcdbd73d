import { randomFillSync } from 'node:crypto';
import { type Activity, createActivity } from '#activity';
import { type Clock, type Log, systemClock } from '#core';
import type { Observer } from '#routing';
import {
  type Metrics,
  type OtlpExporter,
  type OtlpNeeds,
  type OtlpOptions,
  type Redaction,
  createMetrics,
  loadOtlpExporter,
} from '#telemetry';

type Needs = {
  /** Names of all servers. */
  readonly servers: () => readonly string[];
  /** The measured values, for the exporter. */
  readonly measure: OtlpNeeds['families'];
  readonly redaction: Redaction;
  readonly clock: Clock;
  readonly log: Log;
};

/** What records calls: the activity log, the metrics, and the OTLP exporter if an endpoint is configured. */
export type Observers = {
  readonly activity: Activity;
  readonly metrics: Metrics;
  readonly telemetry: OtlpExporter | undefined;
  /** Called with each call when it is answered. */
  readonly observe: Observer;
};

/** Number of recorded calls, and the size of their payloads in bytes. */
const activityBounds = {
  maxCalls: 10_000,
  maxPayloadBytes: 8 * 2 ** 20,
  maxKeptBytes: 4 * 2 ** 10,
} as const;

/** Creates what records calls. */
export async function wireObservers(
  options: { readonly otlp: OtlpOptions | undefined; readonly version: string },
  needs: Needs,
): Promise<Observers> {
  const { clock, redaction } = needs;
  const activity = createActivity(activityBounds, { redaction });
  const metrics = createMetrics({ clock, servers: needs.servers });
  const telemetry = options.otlp && (await createExporter(options.otlp, options.version, needs));
  return {
    activity,
    metrics,
    telemetry,
    observe(call) {
      metrics.record(call);
      activity.record(call);
      telemetry?.record(call);
    },
  };
}

async function createExporter(
  otlp: OtlpOptions,
  version: string,
  { log, measure, redaction }: Needs,
): Promise<OtlpExporter> {
  const createOtlpExporter = await loadOtlpExporter();
  return await createOtlpExporter(
    { ...otlp, resource: { 'service.version': version, ...otlp.resource } },
    {
      clock: systemClock,
      log: log.child({ part: 'telemetry' }),
      fill: bytes => void randomFillSync(bytes),
      families: measure,
      redaction,
      version,
    },
  );
}
