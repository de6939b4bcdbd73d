import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { compilePatterns } from '../../hub/policy/patterns.ts';

test.each<readonly [patterns: readonly string[], text: string, matches: boolean]>([
  [['files_read'], 'files_read', true],
  [['files_read'], 'files_read_all', false],
  [['files_*'], 'files_', true],
  [['files_*'], 'file', false],
  [['*_read'], 'files_read', true],
  [['*'], '', true],
  [['a*a'], 'a', false],
  [['a*a'], 'aa', true],
  [['a*b*c'], 'a-b-c', true],
  [['a*b*c'], 'a-c-b', false],
  [['a*bc*c'], 'abc', false],
  [['**'], 'x', true],
  [['f.*'], 'fx', false],
  [['x', 'y*'], 'yes', true],
  [['Files_*'], 'files_read', false],
])('%j and %j: %s', (patterns, text, matches) => {
  assert.equal(compilePatterns(patterns)(text), matches);
});

test('a pattern with many stars is matched quickly against a hostile text', () => {
  const matches = compilePatterns([`${'a*'.repeat(50)}b`]);
  const cpuMs = startCpuTimer();
  assert.equal(matches('a'.repeat(100_000)), false);
  assert.ok(cpuMs() < 500);
});
