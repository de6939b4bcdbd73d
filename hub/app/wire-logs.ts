import { join } from 'node:path';
import type { Config } from '#config';
import {
  type Clock,
  type Event,
  type Log,
  type Service,
  isObject,
  messageOf,
  tryParseJson,
} from '#core';
import { type Logs, createLogs } from '#logs';

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly redact: (text: string) => string;
  /** Each line of the hub's log as JSON. Absent: they are not kept. */
  readonly logged: Event<string> | undefined;
  readonly config: Pick<Config, 'servers'>;
};

/** Opens the kept logs in the data folder, and begins a run of the hub's own. */
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

/** A line of the hub's log as text. Undefined for lines of servers, which are kept with their servers. */
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
