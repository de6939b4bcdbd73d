import { HubError } from '#core';
import type { TaskJudgement } from './task-types.ts';

/**
 * Parses JUDGE_REPORT.md: a line `Verdict: PASS` or `Verdict: FAIL`, and notes in the rest. Throws HUB_REQUEST_INVALID
 * if there is no verdict, or both.
 */
export function readJudgeReport(text: string): TaskJudgement {
  const line = /^[ \t#>*_-]*verdict[ \t*_]*:[ \t*_]*(pass|fail)(?:ed)?[ \t*_.!]*$/gim;
  const found = [...text.matchAll(line)];
  const [first] = found;
  const verdicts = new Set(found.map(([, verdict = '']) => verdict.toLowerCase()));
  if (!first || verdicts.size !== 1)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `_handoff/JUDGE_REPORT.md: ${first ? 'has two verdicts' : 'has no verdict'}: write one line "Verdict: PASS" or "Verdict: FAIL"`,
    );
  const verdict = verdicts.has('pass') ? 'pass' : 'fail';
  return { verdict, notes: text.replaceAll(line, '').trim() };
}
