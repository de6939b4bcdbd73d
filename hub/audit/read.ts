import { codes, isCode } from '#core';
import { type AuditLine, parseLine } from './chain.ts';
import { listFiles, readBackward } from './folder.ts';

/** Selects lines. A line must match every field that is set. */
export type AuditFilter = {
  /** Policy name of a principal. */
  readonly client?: string | undefined;
  readonly server?: string | undefined;
  /** Name of a tool or prompt, or URI of a resource, with `*` for any characters. */
  readonly tool?: string | undefined;
  /** Selects only refused calls and requests. */
  readonly isDenied?: boolean;
  /** Selects only calls that were answered, and changes that were made, since this time, in ms since the epoch. */
  readonly since?: number | undefined;
};

export type PageOptions = {
  readonly limit: number;
  /** Selects only lines with smaller numbers. */
  readonly before?: number | undefined;
};

export type AuditPage = {
  /** Lines, the newest first. */
  readonly lines: readonly AuditLine[];
  /** Value of `before` for the next page of older lines; undefined if there are none. */
  readonly next: number | undefined;
};

/** Maximum number of lines that are read for one page, as few of them may match. */
const maxRead = 50_000;

/** Reading stops at a line that is older than the filter by this much, in ms: the clock may have been set back. */
const clockMarginMs = 3_600_000;

/** Returns lines of the log in a folder, the newest first. Skips damaged lines, which `verifyAudit` reports. */
export async function readPage(
  folder: string,
  filter: AuditFilter,
  { limit, before = Infinity }: PageOptions,
): Promise<AuditPage> {
  const matches = createMatcher(filter);
  const lines: AuditLine[] = [];
  let read = 0;
  let last = before;
  for (const { path, firstSeq } of (await listFiles(folder)).toReversed()) {
    if (firstSeq >= before) continue;
    for await (const group of readBackward(path))
      for (const text of group) {
        const line = parseLine(text);
        if (!line || line.seq >= before) continue;
        const isOlder = filter.since !== undefined && endOf(line) < filter.since;
        if (isOlder && endOf(line) < filter.since - clockMarginMs)
          return { lines, next: undefined };
        if (lines.length === limit || read === maxRead) return { lines, next: last };
        read++;
        last = line.seq;
        if (!isOlder && matches(line)) lines.push(line);
      }
  }
  return { lines, next: undefined };
}

/** Time when a line was queued, in ms since the epoch. Lines are in this order, unless the clock was set. */
const endOf = ({ at, duration_ms: duration }: AuditLine): number =>
  Date.parse(at) + (typeof duration === 'number' ? duration : 0);

/** True for the outcome of a call that the policy, a limit or the hub's state refused before it was sent. */
export function isDenied(outcome: string): boolean {
  if (!isCode(outcome)) return false;
  const kind = codes[outcome];
  return kind === 'forbidden' || kind === 'overloaded' || outcome === 'HUB_AUDIT_UNAVAILABLE';
}

/** Returns a predicate for all fields of a filter except `since`. */
export function createMatcher({
  client,
  server,
  tool,
  isDenied: deniedOnly = false,
}: AuditFilter): (line: AuditLine) => boolean {
  const pattern = tool === undefined ? undefined : patternOf(tool);
  return line =>
    (client === undefined || line['principal'] === client) &&
    (server === undefined || serverOf(line) === server) &&
    (!pattern || namesOf(line).some(name => pattern.test(name))) &&
    (!deniedOnly || wasDenied(line));
}

const wasDenied = ({ kind, decision, outcome }: AuditLine): boolean =>
  kind === 'refusal' || decision === 'deny' || (typeof outcome === 'string' && isDenied(outcome));

/** Returns the server of a call, or the target of an administrative change. */
const serverOf = ({ kind, server, target }: AuditLine): unknown =>
  kind === 'change' ? target : server;

/** Returns the names of a call that a filter can match: as the client wrote it, and with the server as prefix. */
function namesOf({ name, server }: AuditLine): readonly string[] {
  if (typeof name !== 'string') return [];
  return typeof server === 'string' ? [name, `${server}_${name}`] : [name];
}

const patternOf = (text: string): RegExp =>
  new RegExp(`^${text.replaceAll(/[^\w*]/g, String.raw`\$&`).replaceAll('*', '.*')}$`, 's');
