import assert from 'node:assert/strict';
import { test } from 'vitest';
import { settingsPatch } from '../../../hub/cli/commands/agent-configure.ts';

test.each([
  ['nothing', {}, {}],
  ['a model', { model: 'qwen3:8b' }, { model: 'qwen3:8b' }],
  ['the default model', { model: '' }, { model: null }],
  ['tools', { 'grant-tool': ['memory_*'] }, { grants: { tools: ['memory_*'] } }],
  ['no tools', { 'grant-tool': [''] }, { grants: { tools: [] } }],
  ['the whole network', { network: 'bridge' }, { grants: { network: 'bridge' } }],
  [
    'targets in the network',
    { 'grant-target': ['api.github.com', '*.npmjs.org:443'] },
    { grants: { network: { allow: ['api.github.com', '*.npmjs.org:443'] } } },
  ],
  ['no targets', { 'grant-target': [''] }, { grants: { network: 'none' } }],
  ['tools of its own', { 'load-tool': 'on' }, { grants: { load_tool: true } }],
  ['a budget', { 'tokens-per-hour': '5000' }, { budget: { tokens_per_hour: 5000 } }],
])('%s is written as the REST API expects it', (_name, values, patch) => {
  assert.deepEqual(settingsPatch(values), patch);
});

test.each([
  [{ network: 'host' }, '--network: "host" is not allowed: write "none" or "bridge"'],
  [
    { network: 'bridge', 'grant-target': ['a.example'] },
    'agent configure: write either --network or --grant-target',
  ],
  [{ 'load-tool': 'yes' }, '--load-tool: "yes" is not allowed: write "on" or "off"'],
  [
    { 'calls-per-turn': '0' },
    '--calls-per-turn: "0" is not allowed: write a number from 1 to 10000',
  ],
])('%j is refused', (values, message) => {
  assert.throws(() => settingsPatch(values), { code: 'HUB_USAGE', message });
});
