import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { codes } from '#core';
import { describe, test } from 'vitest';

/** Sections of ERRORS.md by error code. */
const sections = new Map(
  readFileSync('hub/ERRORS.md', 'utf8')
    .split(/^## /m)
    .slice(1)
    .map(section => {
      const [code = '', ...lines] = section.split('\n');
      return [code.trim(), lines.filter(line => line.trim() !== '')] as const;
    }),
);

describe('hub/ERRORS.md explains', () => {
  for (const code of Object.keys(codes))
    test(code, () => {
      const lines = sections.get(code);
      assert.ok(lines, `hub/ERRORS.md has no section "## ${code}"`);
      for (const start of ['- Meaning: ', '- Cause: ', '- What to do: '])
        assert.equal(
          lines.filter(line => line.startsWith(start)).length,
          1,
          `the section ${code} needs one line that begins with "${start}"`,
        );
    });
});

test('hub/ERRORS.md explains no unknown code, and no code twice', () => {
  const headings = readFileSync('hub/ERRORS.md', 'utf8').match(/^## .*$/gm) ?? [];
  assert.deepEqual(
    headings.toSorted(),
    Object.keys(codes)
      .map(code => `## ${code}`)
      .toSorted(),
  );
});
