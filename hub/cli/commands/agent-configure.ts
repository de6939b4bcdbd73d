import type { Options } from '../command.ts';
import { type Values, choiceOf, numberOf, textOf, textsOf, usageError } from '../values.ts';

const networks = ['none', 'bridge'] as const;
const booleans = ['on', 'off'] as const;
const mostTokens = 999_999_999;
const mostPerTurn = 10_000;

export const configureOptions = {
  model: {
    value: 'name',
    mayBeEmpty: true,
    help: 'configure: the model; "" for the default of the hub.',
  },
  system: {
    value: 'text',
    mayBeEmpty: true,
    help: 'configure: the system prompt; "" for the general one.',
  },
  'grant-tool': {
    value: 'pattern',
    multiple: true,
    help: 'configure: tools by their names on /mcp, such as "memory_*". Replaces those before. Repeatable.',
  },
  'grant-server': {
    value: 'name',
    multiple: true,
    completion: 'server',
    help: 'configure: servers all of whose tools it may use. Replaces those before. Repeatable.',
  },
  'grant-agent': {
    value: 'id',
    multiple: true,
    help: 'configure: agents that it may ask. Replaces those before. Repeatable.',
  },
  'grant-target': {
    value: 'host:port',
    multiple: true,
    help: 'configure: what it may reach by the network, such as "api.github.com". Replaces those before. Repeatable.',
  },
  network: {
    value: 'mode',
    completion: networks,
    help: 'configure: "bridge" lets it reach the whole network, "none" nothing.',
  },
  'load-tool': {
    value: 'on|off',
    completion: booleans,
    help: 'configure: whether it may load tools from /workspace/tools.',
  },
  'tokens-per-hour': { value: 'number', help: 'configure: tokens of models in one hour.' },
  'calls-per-turn': { value: 'number', help: 'configure: calls of models for one message.' },
  'steps-per-turn': { value: 'number', help: 'configure: rounds of tools for one message.' },
} as const satisfies Options;

/**
 * Returns the body of `POST /agents/{id}/configure` for the options. Throws HUB_USAGE for invalid values or
 * combinations.
 */
export function settingsPatch(values: Values) {
  const loadTool = choiceOf(values, 'load-tool', booleans);
  const network = networkOf(values);
  const grants = {
    ...namesOf(values, 'grant-tool', 'tools'),
    ...namesOf(values, 'grant-server', 'servers'),
    ...namesOf(values, 'grant-agent', 'agents'),
    ...(loadTool !== undefined && { load_tool: loadTool === 'on' }),
    ...(network !== undefined && { network }),
  };
  const budget = {
    ...limitOf(values, 'tokens-per-hour', 'tokens_per_hour', mostTokens),
    ...limitOf(values, 'calls-per-turn', 'calls_per_turn', mostPerTurn),
    ...limitOf(values, 'steps-per-turn', 'steps_per_turn', mostPerTurn),
  };
  return {
    ...textMember(values, 'model'),
    ...textMember(values, 'system'),
    ...(Object.keys(grants).length > 0 && { grants }),
    ...(Object.keys(budget).length > 0 && { budget }),
  };
}

/** Returns the option as a member of the body. An empty text resets it to the default, which is null in the body. */
function textMember(values: Values, name: string) {
  const value = textOf(values, name);
  return value === undefined ? {} : { [name]: value === '' ? null : value };
}

function namesOf(values: Values, option: string, member: string) {
  return Array.isArray(values[option])
    ? { [member]: textsOf(values, option).filter(name => name !== '') }
    : {};
}

function networkOf(values: Values) {
  const mode = choiceOf(values, 'network', networks);
  if (!Array.isArray(values['grant-target'])) return mode;
  if (mode !== undefined)
    throw usageError('agent configure: write either --network or --grant-target');
  const allow = textsOf(values, 'grant-target').filter(target => target !== '');
  return allow.length === 0 ? 'none' : { allow };
}

function limitOf(values: Values, option: string, member: string, most: number) {
  const limit = numberOf(values, option, { least: 1, most });
  return limit === undefined ? {} : { [member]: limit };
}
