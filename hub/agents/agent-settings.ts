import { z } from 'zod';
import { HubError } from '#core';
import { agentIdPattern } from './agent-id.ts';
import type { AgentSettings } from './agent-types.ts';

/** The settings of an agent that a message created: it may use nothing. */
export const defaultSettings: AgentSettings = {
  model: undefined,
  system: undefined,
  grants: { tools: [], servers: [], agents: [], loadTool: false, network: 'none' },
  budget: { tokensPerHour: 1_000_000, callsPerTurn: 100, stepsPerTurn: 50 },
};

const maxSystemChars = 65_536;
const names = z.array(z.string().min(1).max(256)).max(256);
const whole = (most: number) => z.int().min(1).max(most);

const grantsSchema = z.strictObject({
  tools: names.optional(),
  servers: names.optional(),
  agents: z.array(z.string().regex(agentIdPattern, 'is not an id of an agent')).max(256).optional(),
  load_tool: z.boolean().optional(),
  network: z
    .union([z.enum(['none', 'bridge']), z.strictObject({ allow: names.min(1) })], {
      error: 'write "none", "bridge" or {"allow": ["host:port", ...]}',
    })
    .optional(),
});

const patchSchema = z.strictObject({
  model: z.string().min(1).max(256).nullable().optional(),
  system: z.string().min(1).max(maxSystemChars).nullable().optional(),
  grants: grantsSchema.optional(),
  budget: z
    .strictObject({
      tokens_per_hour: whole(1_000_000_000).optional(),
      calls_per_turn: whole(10_000).optional(),
      steps_per_turn: whole(10_000).optional(),
    })
    .optional(),
});

/**
 * Changes settings by a patch in the notation of the REST API, in which null means the default. Throws HUB_REQUEST_INVALID,
 * which names the member at fault.
 */
export function patchSettings(settings: AgentSettings, patch: unknown): AgentSettings {
  const { data, error } = patchSchema.safeParse(patch);
  if (!data) {
    const [issue] = error.issues;
    const member = issue?.path.join('.');
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `${member ? `${member}: ` : ''}${issue?.message ?? 'is invalid'}. Members are model, system, grants (tools, servers, agents, load_tool, network) and budget (tokens_per_hour, calls_per_turn, steps_per_turn)`,
    );
  }
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

/** Settings in the notation of the REST API, from which `patchSettings` restores them. */
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
