import { type JsonObject, isObject, tryParseJson } from '#core';
import { pathInDiff } from '#repositories';
import { z } from 'zod';
import type { LocalReview, ReviewIssue } from './task-state.ts';

const maxIssues = 50;
const maxText = 2_000;

const issueSchema = z.object({
  path: z.string(),
  line: z.number().nullish(),
  severity: z.enum(['critical', 'major', 'minor']),
  rule: z.string(),
  quote: z.string(),
  why: z.string(),
});

const reviewSchema = z.object({
  passed: z.boolean(),
  critical: z.boolean(),
  issues: z.array(issueSchema),
});

/** JSON schema of the review, for models that can restrict their answers to a schema. */
export function reviewFormat(): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(reviewSchema);
  return z.record(z.string(), z.json()).parse(schema);
}

/**
 * Parses the reviewer's answer. Pure. Drops and counts issues whose quote is not in the diff of their file. A critical
 * review without a valid quote is a problem: it neither passes nor stops the task.
 */
export function readReview(
  answer: string,
  diff: string,
): { readonly review: LocalReview } | { readonly problem: string } {
  const value = jsonIn(answer);
  if (value === undefined) return { problem: 'the answer is not one JSON object' };
  const parsed = reviewSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return {
      problem: `${issue?.path.join('.') || 'the review'}: ${issue?.message ?? 'is invalid'}`,
    };
  }
  const { passed, critical, issues } = parsed.data;
  if (issues.length > maxIssues) return { problem: `issues: more than ${maxIssues}` };
  const lines = linesByFile(diff);
  const kept = issues.filter(issue => isQuoted(issue, lines));
  const dropped = issues.length - kept.length;
  const isCritical =
    kept.some(issue => issue.severity === 'critical') || (critical && kept.length > 0);
  if (critical && !isCritical)
    return {
      problem:
        'critical is true, but no issue quotes a line of the change: copy the line exactly, or write false',
    };
  return {
    review: {
      passed: passed && !isCritical,
      critical: isCritical,
      issues: kept.map(shortened),
      dropped,
    },
  };
}

function shortened({ line, ...issue }: z.output<typeof issueSchema>): ReviewIssue {
  const short = (text: string) => text.slice(0, maxText);
  // A line break would let a model write headings and verdicts of its own into the reports.
  const onOneLine = (text: string) => short(text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim());
  return {
    ...issue,
    quote: short(issue.quote),
    why: onOneLine(issue.why),
    rule: onOneLine(issue.rule),
    ...(typeof line === 'number' && { line }),
  };
}

/** Returns the JSON object in an answer, also from a Markdown fence or surrounding text. */
function jsonIn(answer: string): unknown {
  const text = answer.trim();
  const whole = tryParseJson(text);
  if (isObject(whole)) return whole;
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  const inside = from >= 0 && to > from ? tryParseJson(text.slice(from, to + 1)) : undefined;
  return isObject(inside) ? inside : undefined;
}

/** Returns the lines of a unified diff by file path, without the leading sign. */
function linesByFile(diff: string): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string[]>();
  let before = '';
  let current: string[] | undefined;
  let isHunk = false;
  for (const line of diff.split('\n')) {
    if (line.startsWith('diff --git ')) {
      current = undefined;
      isHunk = false;
    } else if (!isHunk && line.startsWith('--- ')) before = pathInDiff(line);
    else if (!isHunk && line.startsWith('+++ ')) {
      const after = pathInDiff(line);
      const path = after === '/dev/null' ? before : after;
      current = files.get(path) ?? [];
      files.set(path, current);
    } else if (line.startsWith('@@ ')) isHunk = true;
    else if (isHunk) current?.push(line.slice(1));
  }
  return files;
}

/** Minimum length of a quote in characters. A shorter one matches anywhere. */
const minQuote = 3;
const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

function isQuoted(
  { path, quote }: { readonly path: string; readonly quote: string },
  files: ReadonlyMap<string, readonly string[]>,
): boolean {
  const lines = files.get(path.replace(/^(?:\.\/|[ab]\/)/, '')) ?? files.get(path);
  if (!lines) return false;
  const text = plain(lines.join('\n'));
  // A leading + or - may be part of the diff or of the line itself, for example an item of a YAML list.
  const wanted = [quote, quote.replaceAll(/^[+-]/gm, '')].map(plain);
  return wanted.some(one => one.length >= minQuote && text.includes(one));
}
