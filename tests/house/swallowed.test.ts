import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'vitest';

/** Matches a `.catch` that drops the error, with the rest of its line. */
const droppedByCatch = /\.catch\(\(\) => (?:undefined|null|\{\})\)(.*)/;
/** Matches a `catch` that does not name the error, with the first line of its block. */
const droppedByBlock = /\bcatch \{\n(.*)/g;

test('a swallowed error carries its reason', () => {
  const without: string[] = [];
  for (const file of globSync('hub/**/*.ts').sort()) {
    const text = readFileSync(file, 'utf8');
    for (const line of text.split('\n')) {
      const rest = droppedByCatch.exec(line)?.[1];
      if (rest !== undefined && !/\/\/ \S/.test(rest)) without.push(`${file}: ${line.trim()}`);
    }
    // If the block throws another error, nothing is swallowed.
    for (const [, first = ''] of text.matchAll(droppedByBlock))
      if (!/^\s*(?:throw |.*\/\/ \S)/.test(first)) without.push(`${file}: catch { ${first.trim()}`);
  }
  assert.deepEqual(without, []);
});
