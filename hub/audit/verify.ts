import { type Hash, createHash } from 'node:crypto';
import { basename } from 'node:path';
import { type Position, beginning, maxBlockLines, parseLine } from './chain.ts';
import { listFiles, readForward, readHead } from './folder.ts';

/** Result of a check of the whole audit log. */
export type AuditReport = {
  readonly files: number;
  readonly lines: number;
  /** The last line with the hash of its block, for a later comparison; undefined for an empty log. */
  readonly last: (Position & { readonly at: string }) | undefined;
  /** Removed and changed lines. Empty if the hash chain is intact. */
  readonly problems: readonly AuditProblem[];
  /** Name of a file that ends with an incomplete line after a crash. The next run of the hub truncates it. */
  readonly torn: string | undefined;
};

type AuditProblem = {
  readonly file: string;
  /** Number of the line in its file, from 1. */
  readonly line: number;
  readonly message: string;
};

/** Maximum number of reported problems. All further ones are reported as one. */
const maxProblems = 20;

/** Checks that no line of the log was changed or removed. Reads all lines. */
export async function verifyAudit(folder: string): Promise<AuditReport> {
  // Read before the lines, because a running hub writes the head after the lines.
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

/** Lines that share one hash, which the next block contains. */
type Block = {
  readonly firstSeq: number;
  readonly hash: Hash;
  lines: number;
  /** True if a reported problem already explains a different hash. */
  isBroken: boolean;
};

function createChecker(head: Position | undefined, report: (problem: AuditProblem) => void) {
  let end: { readonly seq: number; readonly block: Block } | undefined;
  let lastAt = '';
  let lastPlace: Place = { file: 'head', line: 1 };
  let first: { readonly seq: number; readonly place: Place } | undefined;
  let removedThrough = 0;
  let lines = 0;

  /** Checks the number of a line, and reports a gap. Returns true if the line follows the previous one. */
  function checkNumber(seq: number, place: Place, firstSeq: number | undefined): boolean {
    const message = missingText(seq, end?.seq, firstSeq);
    if (message !== undefined) report({ ...place, message });
    return message === undefined;
  }

  /** Checks the hash of the previous block that a line contains. */
  function checkPrevious(seq: number, previous: string, place: Place): void {
    if (!end) {
      if (seq === 1 && previous !== beginning.hash)
        report({ ...place, message: 'line 1 was changed: no line stands before it' });
    } else if (!end.block.isBroken && previous !== hashSoFar(end.block))
      report({
        ...place,
        message: `${changedText(end)}, or line ${seq}: their hashes differ`,
      });
  }

  /** Returns the block of a line, with the line added to its hash. */
  function blockOf(bytes: Buffer, seq: number, isFirst: boolean): Block {
    if (end && !isFirst) {
      const { block } = end;
      block.hash.update('\n').update(bytes);
      block.lines++;
      return block;
    }
    const hash = createHash('sha256').update(bytes);
    return { firstSeq: seq, hash, lines: 1, isBroken: false };
  }

  return {
    /** Checks a line. `firstSeq`: the number in the name of the file; undefined except for its first line. */
    check(bytes: Buffer, place: Place, firstSeq: number | undefined): void {
      lines++;
      lastPlace = place;
      const line = parseLine(bytes.toString());
      if (!line) {
        report({ ...place, message: 'this is not a line of an audit log' });
        // The hash of its block includes this text, whatever it is.
        if (end) end = { seq: end.seq + 1, block: blockOf(bytes, end.seq + 1, false) };
        return;
      }
      const { seq, previous, at } = line;
      first ??= { seq: firstSeq ?? seq, place };
      const isNext = checkNumber(seq, place, firstSeq);
      if (isNext && previous !== undefined) checkPrevious(seq, previous, place);
      const isLost = isNext && previous === undefined && isUnlinked(end?.block);
      if (isLost)
        report({
          ...place,
          message: `line ${seq} was changed: it lacks the hash of earlier lines`,
        });
      const block = blockOf(bytes, seq, previous !== undefined);
      if (previous === undefined && (isLost || !isNext)) block.isBroken = true;
      end = { seq, block };
      lastAt = at;
      const through = line['action'] === 'files_removed' ? line['through_seq'] : undefined;
      if (typeof through === 'number') removedThrough = Math.max(removedThrough, through);
      if (head?.seq === seq && !block.isBroken && head.hash !== hashSoFar(block))
        report({ ...place, message: `${changedText(end)}: the file "head" has another hash` });
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
      return { lines, last: end && { seq, hash: hashSoFar(end.block), at: lastAt } };
    },
  };
}

/** True if the next line must contain the hash of a block. */
const isUnlinked = (block: Block | undefined): boolean =>
  !block || (block.lines >= maxBlockLines && !block.isBroken);

/**
 * Returns a message about lines that are missing before a line, or about its wrong place; undefined if the number is
 * right. `last`: number of the line before. `firstSeq`: number in the file's name, for its first line.
 */
function missingText(
  seq: number,
  last: number | undefined,
  firstSeq: number | undefined,
): string | undefined {
  if (firstSeq !== undefined && seq > firstSeq && (last === undefined || last < firstSeq))
    return `${linesText(firstSeq, seq - 1)} missing at the start of the file`;
  if (last === undefined || seq === last + 1) return undefined;
  return seq > last + 1
    ? `${linesText(last + 1, seq - 1)} missing before line ${seq}`
    : `line ${seq} stands after line ${last}: it was moved or added`;
}

const hashSoFar = ({ hash }: Block): string => hash.copy().digest('hex');

/** Returns a message that a line was changed, or one of its block's lines, as only the hash of the block is known. */
const changedText = ({ seq, block }: { readonly seq: number; readonly block: Block }): string =>
  seq === block.firstSeq
    ? `line ${seq} was changed`
    : `one of the lines ${block.firstSeq} to ${seq} was changed`;

const linesText = (from: number, to: number): string =>
  from === to ? `line ${from} is` : `lines ${from} to ${to} are`;
