import { expect, test } from 'vitest';
import {
  defaultSettings,
  patchSettings,
  writtenSettings,
} from '../../hub/agents/agent-settings.ts';

test('a new agent may use nothing', () => {
  expect(defaultSettings.grants).toEqual({
    tools: [],
    servers: [],
    agents: [],
    loadTool: false,
    network: 'none',
  });
});

test('a patch changes what it names, and null means the default', () => {
  const first = patchSettings(defaultSettings, {
    model: 'big',
    system: 'be brief',
    grants: { tools: ['memory_*'], network: { allow: ['example.com:443'] } },
  });
  const second = patchSettings(first, { model: null, grants: { load_tool: true } });
  expect(second).toMatchObject({
    model: undefined,
    system: 'be brief',
    grants: { tools: ['memory_*'], loadTool: true, network: { allow: ['example.com:443'] } },
  });
  expect(patchSettings(defaultSettings, writtenSettings(second))).toEqual(second);
});

test.each([
  ['an unknown member', { tools: [] }, 'tools'],
  ['an unknown grant', { grants: { tool: [] } }, 'grants'],
  ['another type', { model: 7 }, 'model'],
  ['an id that is none', { grants: { agents: ['../x'] } }, 'grants.agents.0'],
  ['an unknown network', { grants: { network: 'host' } }, 'grants.network'],
  ['no steps', { budget: { steps_per_turn: 0 } }, 'budget.steps_per_turn'],
  ['no object', 'big', 'expected object'],
])('%s is refused by name', (_what, patch, member) => {
  expect(() => patchSettings(defaultSettings, patch)).toThrow(member);
});
