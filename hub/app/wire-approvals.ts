import { join } from 'node:path';
import { type Approvals, createApprovals } from '#approvals';
import type { Audit } from '#audit';
import { type Config, readApprovals } from '#config';
import { isObject } from '#core';
import { visible } from '#definitions';
import { type Backlog, createJournal } from '#store';
import type { Redaction } from '#telemetry';
import type { System } from './system.ts';

type Needs = System & {
  readonly source: { readonly current: Config };
  readonly backlog: Backlog;
  readonly redaction: Redaction;
  readonly audit: Pick<Audit, 'recordChange'>;
};

const approvalsFile = 'approvals.jsonl';
const maxBytes = 16 * 2 ** 20;
/** Maximum length of the arguments as shown to people, in characters. */
const maxShown = 1_000;

const defaults = readApprovals(undefined);

/** Creates the approvals in the data folder. They use the settings of the active config. */
export function wireApprovals(dataFolder: string, needs: Needs): Approvals {
  const { source, clock, log, newId, backlog, redaction, audit } = needs;
  return createApprovals(() => source.current.approvals ?? defaults, {
    clock,
    log,
    newId,
    show: args => shownArguments(args, redaction),
    record: change => audit.recordChange(change),
    openJournal: snapshot =>
      createJournal(
        { file: join(dataFolder, approvalsFile), maxBytes, snapshot },
        { log, backlog },
      ),
  });
}

/** Returns arguments for people: without secrets, with invisible characters as codes, and truncated. */
export function shownArguments(args: string, redaction: Redaction): string {
  let mark = 'number:';
  while (args.includes(mark)) mark += ':';
  // Shows numbers as written, because the server gets them so. The third parameter has the source text of the value
  // (ES2026), which the types of TypeScript do not have yet.
  const keepNumber = (_: string, value: unknown, ...[context]: readonly unknown[]): unknown => {
    const source = isObject(context) ? context['source'] : undefined;
    const isChanged = typeof value === 'number' && JSON.stringify(value) !== source;
    return isChanged && typeof source === 'string' ? `${mark}${source}` : value;
  };
  const text = JSON.stringify(redaction.json(JSON.parse(args, keepNumber)));
  const shown = visible(text.replaceAll(new RegExp(`"${mark}([-+.\\dEe]+)"`, 'g'), '$1'));
  return shown.length > maxShown
    ? `${shown.slice(0, maxShown)}... (${shown.length} characters in all)`
    : shown;
}
