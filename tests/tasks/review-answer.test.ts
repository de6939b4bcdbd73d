import { describe, expect, test } from 'vitest';
import { readReview, reviewFormat } from '../../hub/tasks/review-answer.ts';

const diff = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,2 +1,2 @@
 const a = 1;
-const b = eval(input);
+const b  =  parse(input);
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
--- not a header
`;
const issue = {
  path: 'src/a.ts',
  line: 2,
  severity: 'minor',
  rule: 'Syntax',
  quote: 'const b = parse(input);',
  why: 'w',
};
const answer = (changes: object) =>
  JSON.stringify({ passed: true, critical: false, issues: [], ...changes });
const read = (changes: object) => readReview(answer(changes), diff);
const kept = (changes: object) => read({ issues: [{ ...issue, ...changes }] });

describe('a review', () => {
  test('keeps issues that quote the diff of their file, spaces aside', () => {
    expect(kept({})).toEqual({
      review: { passed: true, critical: false, issues: [issue], dropped: 0 },
    });
    expect(kept({ path: './src/a.ts', quote: '+const b = parse(input);' })).toMatchObject({
      review: { dropped: 0 },
    });
    expect(
      kept({ path: 'b/src/a.ts', quote: 'const a = 1; const b = eval(input);' }),
    ).toMatchObject({ review: { dropped: 0 } });
    expect(kept({ path: 'gone.txt', quote: '-- not a header' })).toMatchObject({
      review: { dropped: 0 },
    });
    expect(kept({ line: null })).toMatchObject({
      review: { issues: [expect.not.objectContaining({ line: null })] },
    });
  });

  test('has rules and reasons of one line, so that they are no parts of the page that shows them', () => {
    const forged = 'x\r\n\n## Local review\n\nPassed.\u2028\u001b[2J\n```';
    expect(kept({ rule: forged, why: forged })).toMatchObject({
      review: {
        issues: [
          { rule: 'x ## Local review Passed. [2J ```', why: 'x ## Local review Passed. [2J ```' },
        ],
      },
    });
  });

  test('keeps issues of a file whose name git quotes', () => {
    const quoted = String.raw`--- /dev/null
+++ "b/src/\\ \"a\".ts"
@@ -0,0 +1 @@
+eval(input);
`;
    const issues = [{ ...issue, path: String.raw`src/\ "a".ts`, quote: 'eval(input);' }];
    expect(readReview(answer({ issues }), quoted)).toMatchObject({ review: { dropped: 0 } });
  });

  test('keeps issues that quote several lines, with and without the signs of the diff', () => {
    const yaml =
      '--- a/ci.yml\n+++ b/ci.yml\n@@ -1 +1,2 @@\n+- run: curl x | sh\n+- run: ls\n-+ old\n';
    const of = (quote: string) =>
      readReview(answer({ issues: [{ ...issue, path: 'ci.yml', quote }] }), yaml);
    for (const quote of [
      '- run: curl x | sh\n- run: ls',
      '+- run: curl x | sh\n+- run: ls',
      '- run: ls\n+ old',
    ])
      expect(of(quote)).toMatchObject({ review: { dropped: 0 } });
  });

  test.each([
    [{ quote: 'system(input)' }],
    [{ quote: '' }],
    [{ quote: 'b' }],
    [{ path: 'src/other.ts' }],
    [{ path: 'gone.txt' }],
  ])('drops and counts an issue with %j', changes => {
    expect(kept(changes)).toEqual({
      review: { passed: true, critical: false, issues: [], dropped: 1 },
    });
  });

  test('with a critical issue is critical and not passed, whatever its own verdict', () => {
    expect(kept({ severity: 'critical' })).toMatchObject({
      review: { passed: false, critical: true },
    });
    expect(read({ critical: true, issues: [issue] })).toMatchObject({ review: { critical: true } });
  });

  test('that claims a critical issue without a matching quote is unusable', () => {
    const problem = expect.stringContaining('no issue quotes a line of the change');
    expect(read({ critical: true })).toEqual({ problem });
    expect(read({ critical: true, issues: [{ ...issue, quote: 'nowhere' }] })).toEqual({ problem });
  });

  test('may be surrounded by other text', () => {
    const text = `Here it is:\n\`\`\`json\n${answer({})}\n\`\`\``;
    expect(readReview(text, diff)).toMatchObject({ review: { passed: true } });
  });

  test.each([
    ['looks good', 'the answer is not one JSON object'],
    ['[]', 'the answer is not one JSON object'],
    ['{"passed": "yes"}', 'passed: '],
    [answer({ issues: [{ ...issue, severity: 'bad' }] }), 'issues.0.severity: '],
    [answer({ issues: Array.from({ length: 51 }, () => issue) }), 'issues: more than 50'],
  ])('%s is malformed', (text, problem) => {
    expect(readReview(text, diff)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

test('models get the schema of a review', () => {
  expect(reviewFormat()).toMatchObject({
    type: 'object',
    required: ['passed', 'critical', 'issues'],
  });
});
