import type { ServerConfig } from '#config';
import type { Clock, Log } from '#core';
import type { Deviation } from './compare.ts';
import type { DefinitionEvent } from './definitions-types.ts';
import { pinningOf } from './pinning.ts';
import { createReportLimit, lastReport } from './report-limit.ts';
import { visible } from './visible.ts';

type Needs = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Log, 'warn'>;
  readonly record: ((event: DefinitionEvent) => void) | undefined;
};

/** Maximum number of deviations that are remembered as reported. */
const maxTold = 10_000;

/** Creates the reports of deviations to the log and the audit log, each once and within the limit of its server. */
export function createDeviationReports({ clock, log, record }: Needs) {
  const told = new Set<string>();
  const limit = createReportLimit(clock);

  return {
    report(config: ServerConfig, { kind, name, state, definition }: Deviation): void {
      const server = config.name;
      const key = JSON.stringify([server, kind, name, definition.hash, state]);
      if (told.has(key)) return;
      const admitted = limit.admit(server);
      if (admitted === 'no') return;
      if (told.size >= maxTold) told.clear();
      told.add(key);
      const isHidden = pinningOf(config) === 'hide' || state === 'rejected';
      const details = { kind, name: visible(name), state, hash: definition.hash };
      const fate = isHidden ? 'it is hidden until it is accepted' : 'it is offered all the same';
      log.warn(
        { server, ...details },
        `a definition is ${state}: ${fate}. "agenthub pins ${server}" shows the difference`,
      );
      record?.({ action: 'definition_deviates', server, details });
      if (admitted === 'yes') return;
      log.warn({ server }, `${lastReport}. "agenthub pins ${server}" shows all`);
      record?.({ action: 'definition_deviates', server, details: { note: lastReport } });
    },
    forget: limit.forget,
  };
}
