import type { HubScreen } from '#cli';
import type { Settings } from '#config';
import { createEmitter } from '#core';
import { type Redaction, createLog } from '#telemetry';

/** Opens the hub's log on the screen of a terminal, like `openLog` on a stream. */
export function openScreenLog(
  { logLevel: level }: Pick<Settings, 'logLevel'>,
  screen: Pick<HubScreen, 'log'>,
  redaction?: Redaction,
) {
  const { event: written, fire } = createEmitter<string>(() => {});
  const write = (line: string) => {
    screen.log(line);
    fire(line);
  };
  const log = createLog({ level, format: 'json' }, { write }, redaction);
  return { log, written, close: async () => {} };
}
