// npm run bench -- results [tuning|frozen]: prints how many good and bad results of tests/data/improved-prompts.json
// the checks accept, in a table for hub/enhance/README.md.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '#core';
import { checkResult } from '../../hub/enhance/checks/check-result.ts';

/** The answer of a model to a prompt, and whether it may replace the prompt. */
type RatedResult = {
  readonly category: string;
  readonly prompt: string;
  readonly result: string;
  readonly good: boolean;
  /** Checks are developed with the tuning half; published numbers come from the frozen half. */
  readonly half: 'tuning' | 'frozen';
};

export function readResults(): readonly RatedResult[] {
  const file = join(import.meta.dirname, '..', 'data', 'improved-prompts.json');
  const results: unknown = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(Array.isArray(results) && results.every(isResult));
  return results;
}

function isResult(value: unknown): value is RatedResult {
  if (!isObject(value)) return false;
  const { category, prompt, result, good, half } = value;
  return (
    [category, prompt, result].every(text => typeof text === 'string') &&
    typeof good === 'boolean' &&
    (half === 'tuning' || half === 'frozen')
  );
}

const rule = { maxGrowth: 8, systemPrompt: 'Make it clear, specific and well structured.' };

export const isAccepted = ({ prompt, result }: RatedResult): boolean =>
  'text' in checkResult(result, prompt, rule);

/** Formats a Markdown table: for each category, the number of results that are accepted or refused correctly. */
export function resultsTable(results: readonly RatedResult[]): string {
  const rows = Map.groupBy(results, ({ good, category }) =>
    good ? `good: ${category}` : `bad: ${category}`,
  );
  const lineOf = (name: string, some: readonly RatedResult[]) => {
    const right = some.filter(result => isAccepted(result) === result.good).length;
    return `| ${name} | ${right}/${some.length} |`;
  };
  return [
    '| results | accepted if good, refused if bad |',
    '| --- | --- |',
    lineOf(
      'all good ones',
      results.filter(({ good }) => good),
    ),
    lineOf(
      'all bad ones',
      results.filter(({ good }) => !good),
    ),
    ...[...rows]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([name, some]) => lineOf(name, some)),
  ].join('\n');
}
