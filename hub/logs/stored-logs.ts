import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreMissing } from '#core';
import { type LogBounds, type LogLine, usualBounds } from './log-types.ts';
import { createRunFiles } from './run-files.ts';

/** A line and its source. `server` is undefined for lines of the hub's own log. */
export type SourceLine = LogLine & { readonly server: string | undefined };

export type RunLogQuery = {
  readonly servers: readonly string[];
  /** True if the hub's own lines are wanted, too. */
  readonly isHubWanted: boolean;
  /** Which run: 0 is the newest, 1 the one before. */
  readonly back: number;
  /** Maximum number of lines, the newest. Beginnings and ends of runs count as lines. */
  readonly lines: number;
};

/** Reads the lines of one source, oldest first. `server` is undefined for the hub's own. */
type ReadSource = (server: string | undefined) => Promise<readonly LogLine[]>;

/** Files of the runs of a server, or of the hub, in the folder of the logs. */
export const runFilesOf = (
  folder: string,
  server: string | undefined,
  bounds: LogBounds = usualBounds,
) =>
  createRunFiles(
    server === undefined ? join(folder, 'hub') : join(folder, 'servers', server),
    bounds,
  );

/** True if a hub has written logs to this folder. */
export const hasStoredLogs = async (folder: string): Promise<boolean> =>
  ((await readdir(folder).catch(ignoreMissing)) ?? []).length > 0;

/** Names of the servers whose logs are stored in the folder of the logs. */
export async function storedServers(folder: string): Promise<readonly string[]> {
  const found = await readdir(join(folder, 'servers'), { withFileTypes: true }).catch(() => []); // Nothing is stored yet.
  return found.filter(one => one.isDirectory()).map(({ name }) => name);
}

/** Reads the sources that a query names. Returns their lines merged by time, oldest first. */
export async function readSources(
  { servers, isHubWanted, lines: most }: RunLogQuery,
  readSource: ReadSource,
): Promise<readonly SourceLine[]> {
  const wanted = [...servers, ...(isHubWanted ? [undefined] : [])];
  const found = await Promise.all(
    wanted.map(async server => {
      const lines = await readSource(server);
      return lines.slice(-most).map(line => ({ ...line, server }));
    }),
  );
  const merged = found.flat().toSorted((a, b) => a.at - b.at);
  return most === 0 ? [] : merged.slice(-most);
}

/**
 * Reads the logs of a hub that does not run, from the folder of its logs. The lines were redacted when they were written.
 * Rejects if a file cannot be read.
 */
export const readStoredLogs = async (
  folder: string,
  query: RunLogQuery,
): Promise<readonly SourceLine[]> =>
  await readSources(query, async server => {
    const files = runFilesOf(folder, server);
    const run = (await files.runs()).at(-1 - query.back);
    return run === undefined ? [] : await files.read(run);
  });
