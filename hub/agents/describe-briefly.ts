import type { AgentView } from './agent-types.ts';

/** Returns the members of an agent that every caller may read. None comes from a message or a tool. */
export const describeBriefly = ({ id, status, model, queued, lastActivity }: AgentView) => ({
  agent_id: id,
  status,
  model: model ?? null,
  queued,
  last_activity: new Date(lastActivity).toISOString(),
});
