import { join } from 'node:path';
import type { Config } from '#config';
import { type Event, type Service, isObject, messageOf, tryParseJson } from '#core';
import { type Logs, createLogs } from '#logs';
import type { System } from './system.ts';

type Needs = Pick<System, 'clock' | 'log'> & {
  readonly redact: (text: string) => string;
  /** Fires with each line of the hub's log as JSON. Absent: the hub's log is not stored. */
  readonly logged: Event<string> | undefined;
  readonly config: Pick<Config, 'servers'>;
};

/** Opens the stored logs in the data folder, and begins the log of this run of the hub. */
export async function wireLogs(
  dataFolder: string,
  { clock, log, redact, logged, config }: Needs,
): Promise<Logs & Service> {
  const warn = (error: unknown) =>
    log.warn({ error: messageOf(error) }, 'lines of logs could not be written');
  const logs = createLogs(join(dataFolder, 'logs'), { clock, redact, warn });
  await logs.open(config.servers.map(({ name }) => name));
  logs.hub.begin();
  const heard = logged?.(line => {
    const read = readHubLine(line);
    if (read) logs.hub.add(read);
  });
  return {
    ...logs,
    start: async () => {},
    async stop() {
      heard?.[Symbol.dispose]();
      await logs.stop();
    },
  };
}

/** Converts a line of the hub's log to text. Undefined for output of servers, which is stored in their own logs. */
export function readHubLine(line: string): { text: string; level: string } | undefined {
  const record = tryParseJson(line);
  if (!isObject(record)) return undefined;
  const { level, time: _, msg, server, part, ...fields } = record;
  if (typeof server === 'string' && 'stderr' in fields) return undefined;
  const whose = server ?? part;
  const name = typeof whose === 'string' ? `${whose}: ` : '';
  const more = Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : '';
  return { text: `${name}${String(msg)}${more}`, level: String(level) };
}
