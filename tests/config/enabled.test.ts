import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isEnabled } from '../../hub/config/enabled.ts';

test.for([
  [{}, true],
  [{ enabled: true }, true],
  [{ disabled: false }, true],
  [{ enabled: false }, false],
  [{ disabled: true }, false],
  [{ enabled: false, disabled: false }, false],
] as const)('an entry with %j is enabled: %j', ([entry, expected]) => {
  assert.equal(isEnabled(entry), expected);
});
