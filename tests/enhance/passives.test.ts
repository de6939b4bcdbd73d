import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { isOtherVoice } from '../../hub/enhance/passives.ts';

test.for([
  ['which directors has she influenced', 'which directors has she been influenced by', true],
  ['has the team replaced it', 'has the team been replaced by it', true],
  ['what did the job delete', 'what was the job deleted by', true],
  ['can I be fired for it', 'can I fire someone for it', true],
  ['am I paid enough', 'do I pay enough', true],
  ['what am I entitled to if it is cancelled', 'if it is cancelled, what am I entitled to', false],
  ['who painted the wall', 'by whom was the wall painted', false],
  ['the service processes uploads', 'uploads are processed by the service', false],
  ['list issues that are assigned to me', 'list issues assigned to me', false],
  ['is the build broken', 'is the build still broken', false],
] as const)('%j and %j: %j', ([a, b, expected]) => {
  assert.equal(isOtherVoice(canonicalOf(a), canonicalOf(b)), expected);
  assert.equal(isOtherVoice(canonicalOf(b), canonicalOf(a)), expected);
});
