import { expect, test } from 'vitest';
import { readJudgeReport } from '../../hub/tasks/judge-report.ts';

test.each([
  ['Verdict: PASS\n', 'pass', ''],
  ['# Judge\n\n**Verdict:** fail.\n\nRename it.', 'fail', '# Judge\n\n\n\nRename it.'],
  ['- verdict: Passed\n', 'pass', ''],
])('the report %j is read', (text, verdict, notes) => {
  expect(readJudgeReport(text)).toEqual({ verdict, notes });
});

test.each([
  ['It is fine.', 'has no verdict'],
  ['Verdict: maybe', 'has no verdict'],
  ['Verdict: PASS\nVerdict: FAIL', 'has two verdicts'],
])('the report %j is refused', (text, problem) => {
  expect(() => readJudgeReport(text)).toThrow(problem);
});
