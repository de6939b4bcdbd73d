import { basename } from 'node:path';
import { type Position, beginning, hashOf, parseLine } from './chain.ts';
import { listFiles, readForward, readHead } from './folder.ts';

/** What the check of the whole log found. */
export type AuditReport = {
  readonly files: number;
  readonly lines: number;
  /** The last line, to compare later or elsewhere; undefined in an empty log. */
  readonly last: (Position & { readonly at: string }) | undefined;
  /** Removed and changed lines. Empty: the chain is whole. */
  readonly problems: readonly AuditProblem[];
  /** The file that ends in the middle of a line, as a crash leaves it. The next run of the hub cuts it off. */
  readonly torn: string | undefined;
};

export type AuditProblem = {
  readonly file: string;
  /** Number of the line in the file, from 1. */
  readonly line: number;
  readonly message: string;
};

/** Further problems are counted as one. */
const maxProblems = 20;

/** Checks that no line was changed or removed. Reads every line. */
export async function verifyAudit(folder: string): Promise<AuditReport> {
  // Read first: the running hub writes the head after the lines.
  const head = await readHead(folder);
  const files = await listFiles(folder);
  const problems: AuditProblem[] = [];
  const checker = createChecker(head, problem => {
    if (problems.length < maxProblems) problems.push(problem);
    else if (problems.length === maxProblems)
      problems.push({ ...problem, message: 'more lines are damaged' });
  });
  let torn: string | undefined;
  for (const { path, firstSeq } of files) {
    const file = basename(path);
    let number = 0;
    for await (const group of readForward(path))
      for (const { bytes, isTorn } of group) {
        number++;
        if (isTorn) torn = file;
        else checker.check(bytes, { file, line: number }, number === 1 ? firstSeq : undefined);
      }
  }
  const { lines, last } = checker.finish();
  return { files: files.length, lines, last, problems, torn };
}

type Place = { readonly file: string; readonly line: number };

function createChecker(head: Position | undefined, report: (problem: AuditProblem) => void) {
  let end: Position | undefined;
  let lastAt = '';
  let lastPlace: Place = { file: 'head', line: 1 };
  let first: { readonly seq: number; readonly place: Place } | undefined;
  let removedThrough = 0;
  let lines = 0;

  function checkLink(seq: number, previous: string, place: Place): void {
    if (!end) {
      if (seq === 1 && previous !== beginning.hash)
        report({ ...place, message: 'line 1 was changed: no line stands before it' });
      return;
    }
    const expected = end.seq + 1;
    if (seq > expected)
      report({ ...place, message: `${linesText(expected, seq - 1)} missing before line ${seq}` });
    else if (seq < expected)
      report({
        ...place,
        message: `line ${seq} stands after line ${end.seq}: it was moved or added`,
      });
    else if (previous !== end.hash)
      report({
        ...place,
        message: `line ${end.seq} was changed, or line ${seq}: their hashes differ`,
      });
  }

  return {
    /** `firstSeq`: the number in the name of the file, for its first line. */
    check(bytes: Buffer, place: Place, firstSeq: number | undefined): void {
      lines++;
      lastPlace = place;
      const line = parseLine(bytes.toString());
      if (!line) {
        report({ ...place, message: 'this is no line of an audit log' });
        // The next line holds the hash of this text, whatever it is.
        if (end) end = { seq: end.seq + 1, hash: hashOf(bytes) };
        return;
      }
      const { seq, previous, at } = line;
      first ??= { seq: firstSeq ?? seq, place };
      if (firstSeq !== undefined && seq > firstSeq && (!end || end.seq < firstSeq))
        report({
          ...place,
          message: `${linesText(firstSeq, seq - 1)} missing at the start of the file`,
        });
      else checkLink(seq, previous, place);
      end = { seq, hash: hashOf(bytes) };
      lastAt = at;
      const through = line['action'] === 'files_removed' ? line['through_seq'] : undefined;
      if (typeof through === 'number') removedThrough = Math.max(removedThrough, through);
      if (head?.seq === seq && head.hash !== end.hash)
        report({ ...place, message: `line ${seq} was changed: the file "head" has another hash` });
    },
    finish() {
      if (first && first.seq > removedThrough + 1)
        report({
          ...first.place,
          message: `${linesText(removedThrough + 1, first.seq - 1)} missing at the beginning`,
        });
      const seq = end?.seq ?? 0;
      if (head && head.seq > seq)
        report({ ...lastPlace, message: `${linesText(seq + 1, head.seq)} missing at the end` });
      return { lines, last: end && { ...end, at: lastAt } };
    },
  };
}

const linesText = (from: number, to: number): string =>
  from === to ? `line ${from} is` : `lines ${from} to ${to} are`;
