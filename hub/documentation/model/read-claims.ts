import { posix } from 'node:path';
import type { Claim } from '../notes/note-types.ts';
import type { Citation } from '../project/project-types.ts';

type ReadClaims = {
  readonly claims: readonly Claim[];
  /** Number of citations of lines that do not exist at the commit. */
  readonly removedCitations: number;
  /** Number of lines that were dropped: without an existing citation, or without prose. */
  readonly droppedClaims: number;
};

const maxClaims = 12;
const maxClaimLength = 600;
const citation =
  /[\s([`]{0,20}([\w@./+$-]{0,200}[\w$-]\.\w{1,12}):(\d{1,7})(?:-\d{1,7})?[\])`,;]*/g;

/**
 * Parses the lines of a model's answer. A line is used only if it cites an existing line of a file that was shown to
 * the model. `linesOf`: number of lines of each such file, by path.
 */
export function readClaims(answer: string, linesOf: ReadonlyMap<string, number>): ReadClaims {
  const claims: Claim[] = [];
  let removedCitations = 0;
  let droppedClaims = 0;
  for (const line of answer.split('\n')) {
    const said = /^\s*(?:[-*•]|\d+[.)])\s+(\S.*)/.exec(line)?.[1];
    if (said === undefined || claims.length === maxClaims) continue;
    const citations: Citation[] = [];
    for (const [, path = '', number] of said.matchAll(citation)) {
      const found = existing(path, Number(number), linesOf);
      if (!found) removedCitations++;
      else if (!citations.some(one => one.path === found.path && one.line === found.line))
        citations.push(found);
    }
    const text = said
      .replaceAll(citation, ' ')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/\s+([.,;:])/g, '$1')
      .trim();
    const word = text.search(/\p{L}{2}/u);
    const isProse = word >= 0 && text.includes(' ', word);
    if (citations.length === 0 || !isProse) droppedClaims++;
    else claims.push({ text: text.slice(0, maxClaimLength), citations });
  }
  return { claims, removedCitations, droppedClaims };
}

/**
 * Returns a citation with its full path; undefined if the line does not exist. Models often omit the folder: a file
 * name is enough if only one file has it.
 */
function existing(
  path: string,
  line: number,
  linesOf: ReadonlyMap<string, number>,
): Citation | undefined {
  const plain = path.replace(/^\.\//, '');
  const matches = linesOf.has(plain)
    ? [plain]
    : [...linesOf.keys()].filter(
        known => posix.basename(known) === plain || known.endsWith(`/${plain}`),
      );
  const [found] = matches;
  if (found === undefined || matches.length > 1) return undefined;
  return line >= 1 && line <= (linesOf.get(found) ?? 0) ? { path: found, line } : undefined;
}
