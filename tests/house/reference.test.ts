import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';

test('docs/reference.md is current: "node scripts/reference.mjs" regenerates it', () => {
  const text = execFileSync(process.execPath, ['scripts/reference.mjs', '--print']).toString();
  assert.equal(readFileSync('docs/reference.md', 'utf8'), text);
});
