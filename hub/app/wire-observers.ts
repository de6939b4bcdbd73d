import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import { createActivity, createCallStore } from '#activity';
import { type Config, type ConfigChange, type Settings, readActivity } from '#config';
import { type Event, messageOf } from '#core';
import { policyNameOf } from '#policy';
import type { Observer } from '#routing';
import { type OtlpNeeds, type Redaction, createMetrics, loadOtlpExporter } from '#telemetry';
import type { System } from './system.ts';

type Needs = Pick<System, 'clock' | 'log'> & {
  /** Returns the names of all servers. */
  readonly servers: () => readonly string[];
  /** Reads the metrics for the exporter. */
  readonly families: OtlpNeeds['families'];
  readonly count: Observer;
  readonly redaction: Redaction;
  readonly source: { readonly current: Config; readonly changed: Event<ConfigChange> };
};

type Options = Pick<Settings, 'otlp'> & {
  readonly version: string;
  readonly dataFolder: string;
};

/** Maximum number of recorded calls, and maximum size of their payloads in bytes. */
const activityBounds = {
  maxCalls: 10_000,
  maxPayloadBytes: 8 * 2 ** 20,
  maxKeptBytes: 4 * 2 ** 10,
} as const;

/**
 * Creates the recorders of calls: the activity log, the metrics, and the OTLP exporter if an endpoint is configured.
 */
export async function wireObservers(
  { otlp, version, dataFolder }: Options,
  { servers, families, count, redaction, clock, log, source }: Needs,
) {
  const { calls, earlier } = await openCalls(dataFolder, { redaction, clock, log, source });
  const activity = createActivity(activityBounds, {
    redaction,
    earlier: { ...earlier, read: most => calls.read(most) },
  });
  calls.follow(activity);
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
  const observe: Observer = call => {
    const principal = policyNameOf(call.principal);
    metrics.record(call, principal);
    count(call);
    activity.record(call);
    telemetry?.record(call, principal);
  };
  return { activity, calls, lastSession: earlier.lastSession, metrics, telemetry, observe };
}

const defaults = readActivity(undefined);

async function openCalls(
  dataFolder: string,
  { redaction, clock, log, source }: Pick<Needs, 'redaction' | 'clock' | 'log' | 'source'>,
) {
  const calls = createCallStore(
    join(dataFolder, 'activity'),
    () => source.current.activity ?? defaults,
    {
      clock,
      redact: text => redaction.text(text),
      warn: error =>
        log.warn({ error: messageOf(error) }, 'stored calls cannot be read or written'),
      skipped: lines => log.warn({ lines }, 'lines of stored calls are damaged and were skipped'),
    },
  );
  source.changed(() => void calls.apply());
  return { calls, earlier: await calls.open() };
}
