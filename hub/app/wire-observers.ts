import { randomFillSync } from 'node:crypto';
import { createActivity } from '#activity';
import type { Settings } from '#config';
import type { Clock, Log } from '#core';
import { policyNameOf } from '#policy';
import type { Observer } from '#routing';
import { type OtlpNeeds, type Redaction, createMetrics, loadOtlpExporter } from '#telemetry';

type Needs = {
  /** Names of all servers. */
  readonly servers: () => readonly string[];
  /** The measured values, for the exporter. */
  readonly families: OtlpNeeds['families'];
  /** Counts calls by client. */
  readonly count: Observer;
  readonly redaction: Redaction;
  readonly clock: Clock;
  readonly log: Log;
};

/** Number of recorded calls, and the size of their payloads in bytes. */
const activityBounds = {
  maxCalls: 10_000,
  maxPayloadBytes: 8 * 2 ** 20,
  maxKeptBytes: 4 * 2 ** 10,
} as const;

/** Creates the recorders of calls: the activity log, the metrics, and the OTLP exporter if an endpoint is configured. */
export async function wireObservers(
  { otlp }: Pick<Settings, 'otlp'>,
  version: string,
  { servers, families, count, redaction, clock, log }: Needs,
) {
  const activity = createActivity(activityBounds, { redaction });
  const metrics = createMetrics({ clock, servers });
  const telemetry =
    otlp &&
    (await (
      await loadOtlpExporter()
    )(
      { ...otlp, resource: { 'service.version': version, ...otlp.resource } },
      {
        clock,
        log: log.child({ part: 'telemetry' }),
        fill: bytes => void randomFillSync(bytes),
        families,
        redaction,
        version,
      },
    ));
  /** Called with each call when it is answered. */
  const observe: Observer = call => {
    const principal = policyNameOf(call.principal);
    metrics.record(call, principal);
    count(call);
    activity.record(call);
    telemetry?.record(call, principal);
  };
  return { activity, metrics, telemetry, observe };
}
