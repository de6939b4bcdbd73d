import assert from 'node:assert/strict';
import { test } from 'vitest';
import { clientNamePattern } from '../../hub/config/rule-clients.ts';
import { ruleKeys, rulesSchema } from '../../hub/config/rules-schema.ts';

test.for([
  [[], 'fallback_chain'],
  [['default'], 'system_prompt'],
  [['clients', 'a'], 'system_prompt'],
  [['default', 'options'], 'num_ctx'],
  [['clients', 'options', 'options'], 'num_ctx'],
  [['clients', 'options'], 'system_prompt'],
  [['default', 'timeouts'], 'first_token'],
  [['clients', 'a', 'timeouts'], 'first_token'],
  [['default', 'cache'], 'threshold'],
  [['clients', 'a', 'cache'], 'threshold'],
] as const)('at %j the key %s is known', ([path, key]) => {
  assert.ok(ruleKeys.keysAt(path).includes(key));
});

test.for(['a', 'Claude Code', 'org/client@1+', 'x'.repeat(64), '0 _.@/+-0'])(
  '%j is the name of a client',
  name => {
    assert.match(name, clientNamePattern);
  },
);

test.for(['', ' a', 'a ', '_a', 'a\n', 'a\tb', 'ä', 'x'.repeat(65), '-'])(
  '%j is not the name of a client',
  name => {
    assert.doesNotMatch(name, clientNamePattern);
  },
);

test.for([
  [{ default: { options: { temperature: 2 } } }, true],
  [{ default: { options: { temperature: 2.1 } } }, false],
  [{ default: { cache: { threshold: -0.1 } } }, false],
  [{ default: { cache: { ttl: 2_592_001 } } }, false],
  [{ default: { timeouts: { first_token: 0 } } }, false],
  [{ default: { tools: { t: Array.from({ length: 17 }, () => 'a') } } }, false],
  [{ default: { prompts: [''] } }, false],
  [{ default: { model: '../evil' } }, false],
  [{ default: { model: 'llama3.2:3b' } }, true],
  [{ fallback_chain: Array.from({ length: 16 }, () => null) }, true],
  [{ fallback_chain: Array.from({ length: 17 }, () => null) }, false],
  [{ judge_model: null }, true],
  [{ embedding_model: null }, false],
] as const)('%j is allowed: %s', ([rules, isAllowed]) => {
  assert.equal(rulesSchema.safeParse(rules).success, isAllowed);
});
