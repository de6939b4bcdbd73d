import { isJsonObject, isObject, shown } from '#core';
import type { ChatRequest, ChatTool } from '../chat/chat-types.ts';
import { invalid, readMessages } from './read-messages.ts';

export type SamplingParams = Pick<
  ChatRequest,
  'system' | 'messages' | 'tools' | 'toolChoice' | 'temperature' | 'stopSequences'
> & {
  readonly maxTokens: number;
  /** True if the request has `tools`: the content of its result may then be a list. */
  readonly hasTools: boolean;
  /** Names of models from the hints of the request, the preferred one first. */
  readonly hints: readonly string[];
};

const maxTools = 1_000;
const maxHints = 20;
const toolChoices = ['auto', 'required', 'none'] as const;

/** Parses the params of sampling/createMessage (revision 2025-11-25). Throws HUB_REQUEST_INVALID. */
export function readSamplingParams(params: unknown): SamplingParams {
  if (!isObject(params)) throw invalid('params', 'is not an object', 'send an object');
  if (params['task'] !== undefined)
    throw invalid('task', 'is not supported', 'send sampling/createMessage without a task');
  const tools = readTools(params['tools']);
  const toolChoice = readToolChoice(params['toolChoice']);
  if (toolChoice === 'required' && tools.length === 0)
    throw invalid('toolChoice.mode', '"required" needs tools', 'send tools, or "auto"');
  return {
    system: optional(params['systemPrompt'], 'systemPrompt', isString, 'a text'),
    messages: readMessages(params['messages']),
    tools,
    toolChoice,
    maxTokens: required(params['maxTokens'], 'maxTokens', isCount, 'a whole number from 1 on'),
    temperature: optional(
      params['temperature'],
      'temperature',
      isTemperature,
      'a number from 0 on',
    ),
    stopSequences:
      optional(params['stopSequences'], 'stopSequences', isTexts, 'a list of texts') ?? [],
    hasTools: params['tools'] !== undefined,
    hints: readHints(params['modelPreferences']),
  };
}

const isString = (value: unknown): value is string => typeof value === 'string';
export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
const isTemperature = (value: unknown): value is number => typeof value === 'number' && value >= 0;
export const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(isString);

function required<T>(
  value: unknown,
  field: string,
  fits: (value: unknown) => value is T,
  wanted: string,
): T {
  if (fits(value)) return value;
  throw invalid(field, value === undefined ? 'is missing' : `is ${shown(value)}`, `send ${wanted}`);
}

const optional = <T>(
  value: unknown,
  field: string,
  fits: (value: unknown) => value is T,
  wanted: string,
): T | undefined => (value === undefined ? undefined : required(value, field, fits, wanted));

function readTools(value: unknown): readonly ChatTool[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalid('tools', `is ${shown(value)}`, 'send a list');
  if (value.length > maxTools)
    throw invalid('tools', `has ${value.length} tools`, `send at most ${maxTools}`);
  const tools = value.map((tool: unknown, at) => {
    const field = `tools[${at}]`;
    const { name, description, inputSchema } = required(tool, field, isObject, 'an object');
    return {
      name: required(name, `${field}.name`, isString, 'a text'),
      description: optional(description, `${field}.description`, isString, 'a text'),
      inputSchema: required(inputSchema, `${field}.inputSchema`, isJsonObject, 'a JSON schema'),
    };
  });
  const names = new Set<string>();
  for (const [at, { name }] of tools.entries()) {
    if (names.has(name))
      throw invalid(`tools[${at}].name`, `${shown(name)} comes twice`, 'send each tool once');
    names.add(name);
  }
  return tools;
}

function readToolChoice(value: unknown): ChatRequest['toolChoice'] {
  const { mode = 'auto' } = optional(value, 'toolChoice', isObject, 'an object') ?? {};
  const chosen = toolChoices.find(one => one === mode);
  if (chosen) return chosen;
  throw invalid('toolChoice.mode', `is ${shown(mode)}`, `send ${toolChoices.join(', ')}`);
}

function readHints(value: unknown): readonly string[] {
  const { hints } = optional(value, 'modelPreferences', isObject, 'an object') ?? {};
  if (hints === undefined) return [];
  if (!Array.isArray(hints))
    throw invalid('modelPreferences.hints', 'is not a list', 'send a list');
  return hints
    .slice(0, maxHints)
    .flatMap(hint => (isObject(hint) && isString(hint['name']) ? hint['name'] : []));
}
