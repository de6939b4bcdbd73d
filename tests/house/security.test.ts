import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'vitest';

const document = readFileSync('docs/security.md', 'utf8');

/** Rows of the tables of attackers: what is not possible, and the tests that show it. */
const rows = [...document.matchAll(/^\| (.+?) +\| (.*`tests\/.*?) +\|$/gm)].map(
  ([, promise = '', shown = '']) => ({ promise, shown }),
);

test('docs/security.md has a test for each of its promises', () => {
  const lines = document.split('\n').filter(line => /^\|(?! -|---)/.test(line));
  const headings = lines.filter(line => line.includes('| Shown by'));
  assert.equal(rows.length, lines.length - headings.length);
  assert.ok(rows.length > 30);
});

for (const { promise, shown } of rows)
  test(`docs/security.md: ${promise}`, () => {
    const named = [...shown.matchAll(/`(tests\/[\w./-]+)`: ([^;]+)/g)];
    assert.ok(named.length > 0, 'names no test');
    for (const [, file = '', name = ''] of named) {
      assert.ok(existsSync(file), `${file} does not exist`);
      const text = readFileSync(file, 'utf8').replaceAll("\\'", "'");
      assert.ok(text.includes(name.trim()), `${file} has no test "${name.trim()}"`);
    }
  });
