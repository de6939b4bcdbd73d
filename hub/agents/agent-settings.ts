import { z } from 'zod';
import { HubError, shortened, shown, typeInWords } from '#core';
import { agentIdPattern } from './agent-id.ts';
import type { AgentSettings } from './agent-types.ts';

/** The settings of an agent that was not configured. It has no grants. */
export const defaultSettings: AgentSettings = {
  model: undefined,
  system: undefined,
  grants: { tools: [], servers: [], agents: [], loadTool: false, network: 'none' },
  budget: { tokensPerHour: 1_000_000, callsPerTurn: 100, stepsPerTurn: 50 },
};

const maxSystemChars = 65_536;
const maxNameChars = 256;
const maxNames = 256;
const mostTokens = 1_000_000_000;
const mostPerTurn = 10_000;
const names = z.array(z.string().min(1).max(maxNameChars)).max(maxNames);
const whole = (most: number) => z.int().min(1).max(most);

const grantsSchema = z.strictObject({
  tools: names.optional(),
  servers: names.optional(),
  agents: z
    .array(z.string().regex(agentIdPattern, 'is not an id of an agent'))
    .max(maxNames)
    .optional(),
  load_tool: z.boolean().optional(),
  network: z
    .union([z.enum(['none', 'bridge']), z.strictObject({ allow: names.min(1) })], {
      error: 'write "none", "bridge" or {"allow": ["host:port", ...]}',
    })
    .optional(),
});

const patchSchema = z.strictObject({
  model: z.string().min(1).max(maxNameChars).nullable().optional(),
  system: z.string().min(1).max(maxSystemChars).nullable().optional(),
  grants: grantsSchema.optional(),
  budget: z
    .strictObject({
      tokens_per_hour: whole(mostTokens).optional(),
      calls_per_turn: whole(mostPerTurn).optional(),
      steps_per_turn: whole(mostPerTurn).optional(),
    })
    .optional(),
});

/**
 * Applies a patch in the format of the REST API, in which null means the default. Throws HUB_REQUEST_INVALID, which names
 * the invalid member.
 */
export function patchSettings(settings: AgentSettings, patch: unknown): AgentSettings {
  const { data, error } = patchSchema.safeParse(patch, { reportInput: true });
  if (!data)
    throw new HubError('HUB_REQUEST_INVALID', error.issues.slice(0, 1).map(describeIssue).join());
  const { model, system, grants, budget } = data;
  const before = settings;
  return {
    model: model === undefined ? before.model : (model ?? undefined),
    system: system === undefined ? before.system : (system ?? undefined),
    grants: {
      tools: grants?.tools ?? before.grants.tools,
      servers: grants?.servers ?? before.grants.servers,
      agents: grants?.agents ?? before.grants.agents,
      loadTool: grants?.load_tool ?? before.grants.loadTool,
      network: grants?.network ?? before.grants.network,
    },
    budget: {
      tokensPerHour: budget?.tokens_per_hour ?? before.budget.tokensPerHour,
      callsPerTurn: budget?.calls_per_turn ?? before.budget.callsPerTurn,
      stepsPerTurn: budget?.steps_per_turn ?? before.budget.stepsPerTurn,
    },
  };
}

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys')
    return `${shortened([...issue.path, issue.keys[0]].join('.'))}: is not a setting of an agent. Settings are model, system, grants (tools, servers, agents, load_tool, network) and budget (tokens_per_hour, calls_per_turn, steps_per_turn)`;
  const member = issue.path.join('.') || 'the body';
  if (issue.code === 'invalid_format') return `${member}: ${shown(issue.input)} ${issue.message}`;
  return `${member}: ${shown(issue.input)} is not allowed: ${remedyFor(issue)}`;
}

function remedyFor(issue: z.core.$ZodIssue): string {
  const [first, last] = issue.path;
  if (first === 'budget' && last !== undefined)
    return `write a whole number from 1 to ${last === 'tokens_per_hour' ? mostTokens : mostPerTurn}`;
  if (issue.code === 'invalid_type') return `write ${typeInWords(issue.expected)}`;
  const isSize = issue.code === 'too_small' || issue.code === 'too_big';
  if (!isSize) return issue.message;
  if (issue.origin === 'array') return `write at most ${maxNames} names`;
  const most = first === 'system' ? maxSystemChars : maxNameChars;
  return `write 1 to ${most} characters${first === 'grants' ? '' : ', or null for the default'}`;
}

/** Returns settings in the format of the REST API, from which `patchSettings` restores them. */
export const writtenSettings = ({ model, system, grants, budget }: AgentSettings) => ({
  model: model ?? null,
  system: system ?? null,
  grants: {
    tools: grants.tools,
    servers: grants.servers,
    agents: grants.agents,
    load_tool: grants.loadTool,
    network: grants.network,
  },
  budget: {
    tokens_per_hour: budget.tokensPerHour,
    calls_per_turn: budget.callsPerTurn,
    steps_per_turn: budget.stepsPerTurn,
  },
});
