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
  [{ tools: [] }, /^tools: is not a setting of an agent\. Settings are model, system, grants/],
  [{ grants: { tool: [] } }, /^grants\.tool: is not a setting of an agent\./],
  [{ grants: { ['x'.repeat(1_000)]: [] } }, /^grants\.x{53}\.\.\.: is not a setting of an agent\./],
  [{ model: 7 }, /^model: 7 is not allowed: write a string$/],
  [{ model: '' }, /^model: "" is not allowed: write 1 to 256 characters, or null for the default$/],
  [
    { system: 'x'.repeat(65_537) },
    /^system: "x{59}\.\.\. is not allowed: write 1 to 65536 characters/,
  ],
  [{ grants: { tools: 'a' } }, /^grants\.tools: "a" is not allowed: write a list$/],
  [{ grants: { tools: [''] } }, /^grants\.tools\.0: "" is not allowed: write 1 to 256 characters$/],
  [
    { grants: { load_tool: 'on' } },
    /^grants\.load_tool: "on" is not allowed: write true or false$/,
  ],
  [{ grants: { agents: ['../x'] } }, /^grants\.agents\.0: "\.\.\/x" is not an id of an agent$/],
  [
    { grants: { network: 'host' } },
    /^grants\.network: "host" is not allowed: write "none", "bridge" or/,
  ],
  [
    { budget: { steps_per_turn: 0 } },
    /^budget\.steps_per_turn: 0 is not allowed: write a whole number from 1 to 10000$/,
  ],
  [
    { budget: { steps_per_turn: 1.5 } },
    /^budget\.steps_per_turn: 1\.5 is not allowed: write a whole number from 1/,
  ],
  ['big', /^the body: "big" is not allowed: write an object$/],
])('%j is refused with member, value and remedy', (patch, message) => {
  expect(() => patchSettings(defaultSettings, patch)).toThrow(message);
});
