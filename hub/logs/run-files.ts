import {
  appendFile,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreMissing, isObject, tryParseJson } from '#core';
import type { LogBounds, LogLine } from './log-types.ts';

/**
 * Log files of one source. `000007.jsonl` has the newest lines of run 7, `000007.old.jsonl` the lines before, after the
 * beginning of the run.
 */
export type RunFiles = ReturnType<typeof createRunFiles>;

/** The run that is being written, with the size of its newest file in bytes. */
type RunSize = { readonly run: number; readonly bytes: number };

const suffix = '.jsonl';
const oldSuffix = '.old.jsonl';
const digits = 6;

/** Creates the log files of a source in a folder, which the first write creates. Not for concurrent writes. */
export function createRunFiles(folder: string, { maxRuns, maxFileBytes }: LogBounds) {
  const fileOf = (run: number, end = suffix) =>
    join(folder, `${String(run).padStart(digits, '0')}${end}`);
  /** Undefined before the first write, and after a failed one. */
  let written: RunSize | undefined;

  /** Returns the numbers of the stored runs, the oldest first. */
  async function runs(): Promise<readonly number[]> {
    const names = await readdir(folder).catch(ignoreMissing);
    const numbers = (names ?? []).flatMap(name => {
      const number = name.endsWith(suffix) ? Number.parseInt(name, 10) : NaN;
      return Number.isSafeInteger(number) ? [number] : [];
    });
    return [...new Set(numbers)].toSorted((a, b) => a - b);
  }

  async function prune(): Promise<void> {
    for (const run of (await runs()).slice(0, -maxRuns)) {
      await rm(fileOf(run, oldSuffix), { force: true });
      await rm(fileOf(run), { force: true });
    }
  }

  async function bytesOf(run: number): Promise<number> {
    return (await stat(fileOf(run)).catch(ignoreMissing))?.size ?? 0;
  }

  async function openRun(run: number): Promise<RunSize> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const bytes = await bytesOf(run);
    // Terminates an incomplete line.
    if (bytes > 0) await appendFile(fileOf(run), '\n');
    return { run, bytes };
  }

  /** Replaces the old file by the full one. The old file keeps the beginning of the run as its first line. */
  async function rotate(run: number): Promise<void> {
    const [full, old] = [fileOf(run), fileOf(run, oldSuffix)];
    const [first] = await linesIn(run, oldSuffix);
    if (!first) return await rename(full, old);
    const began = JSON.stringify(recordOf({ at: first.at, run, text: '', event: 'began' }));
    const next = `${old}.new`;
    await writeFile(next, `${began}\n${await readFile(full, 'utf8')}`, { mode: 0o600 });
    await rename(next, old);
    await rm(full);
  }

  async function linesIn(run: number, end: string): Promise<readonly LogLine[]> {
    const text = await readFile(fileOf(run, end), 'utf8').catch(ignoreMissing);
    return (text ?? '').split('\n').flatMap(line => lineOf(run, line));
  }

  async function appendText({ run, bytes: before }: RunSize, text: string): Promise<RunSize> {
    const bytes = Buffer.byteLength(text);
    const isFull = before > 0 && before + bytes > maxFileBytes;
    if (isFull) await rotate(run);
    await appendFile(fileOf(run), text, { mode: 0o600 });
    if (before === 0) await prune();
    return { run, bytes: (isFull ? 0 : before) + bytes };
  }

  return {
    runs,
    /** Appends lines of one run. Rejects if they cannot be written. */
    async append(run: number, lines: readonly LogLine[]): Promise<void> {
      for (const text of textsOf(lines, maxFileBytes)) {
        const known = written?.run === run ? written : await openRun(run);
        // After a failure, the file may end with an incomplete line.
        written = undefined;
        // The folder may have been removed since the last write.
        written =
          (await appendText(known, text).catch(ignoreMissing)) ??
          (await appendText(await openRun(run), text));
      }
    },
    /** Reads the lines of a run, the oldest first; none if the run is not stored. Skips incomplete lines. */
    async read(run: number): Promise<readonly LogLine[]> {
      const parts = await Promise.all([oldSuffix, suffix].map(end => linesIn(run, end)));
      return parts.flat();
    },
    /** Time of the last write in milliseconds since the epoch. Without files, the time of the folder. */
    async lastWrite(): Promise<number> {
      const paths = [folder, ...(await runs()).map(run => fileOf(run))];
      const found = await Promise.all(paths.map(path => stat(path).catch(ignoreMissing)));
      return Math.max(...found.map(stats => stats?.mtimeMs ?? 0));
    },
    remove: async (): Promise<void> => await rm(folder, { recursive: true, force: true }),
  };
}

/** Returns the records of lines as texts that each fit into a file. A longer record is a text of its own. */
function textsOf(lines: readonly LogLine[], maxBytes: number): readonly string[] {
  const texts: string[] = [];
  let text = '';
  let bytes = 0;
  for (const line of lines) {
    const record = `${JSON.stringify(recordOf(line))}\n`;
    // Measured in bytes: escapes and characters beyond ASCII take up to six bytes each.
    const more = Buffer.byteLength(record);
    if (bytes > 0 && bytes + more > maxBytes) {
      texts.push(text);
      text = '';
      bytes = 0;
    }
    text += record;
    bytes += more;
  }
  return text === '' ? texts : [...texts, text];
}

/** Returns the record of a line. Its keys are short, because each line repeats them. */
const recordOf = ({ at, text, isHubs, instance, level, event }: LogLine) => ({
  t: at,
  s: text,
  ...(isHubs && { h: 1 }),
  ...(instance !== undefined && { i: instance }),
  ...(level !== undefined && { l: level }),
  ...(event && { e: event }),
});

function lineOf(run: number, text: string): readonly LogLine[] {
  const record = text === '' ? undefined : tryParseJson(text);
  if (!isObject(record)) return [];
  const { t: at, s, h, i: instance, l: level, e: event } = record;
  if (typeof at !== 'number' || typeof s !== 'string') return [];
  const line: LogLine = {
    at,
    run,
    text: s,
    ...(h === 1 && { isHubs: true }),
    ...(typeof instance === 'string' && { instance }),
    ...(typeof level === 'string' && { level }),
    ...((event === 'began' || event === 'ended') && { event }),
  };
  return [line];
}
