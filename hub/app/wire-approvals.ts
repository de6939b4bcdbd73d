import { join } from 'node:path';
import { type Approvals, createApprovals } from '#approvals';
import type { Audit } from '#audit';
import { type Config, readApprovals } from '#config';
import { type Clock, type Log, tryParseJson } from '#core';
import { type Backlog, createJournal } from '#store';
import type { Redaction } from '#telemetry';

type Needs = {
  readonly source: { readonly current: Config };
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly backlog: Backlog;
  readonly redaction: Redaction;
  readonly audit: Pick<Audit, 'recordChange'>;
};

/** File of the approvals, in the data folder. */
const approvalsFile = 'approvals.jsonl';
const maxBytes = 16 * 2 ** 20;
/** Maximum length of the arguments that people are shown, in characters. */
const maxShown = 1_000;

const defaults = readApprovals(undefined);

/** Creates the approvals in the data folder. They follow the config. */
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

/** Arguments without secrets and invisible characters, cut to what a person reads. */
export function shownArguments(args: string, redaction: Redaction): string {
  const text = JSON.stringify(redaction.json(tryParseJson(args))) ?? '{}';
  const visible = text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu,
    character => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
  return visible.length > maxShown
    ? `${visible.slice(0, maxShown)}... (${visible.length} characters in all)`
    : visible;
}
