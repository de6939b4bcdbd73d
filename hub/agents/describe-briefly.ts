import type { AgentView } from './agent-types.ts';

/** What every caller may read of an agent: nothing that a message or a tool contained. */
export const describeBriefly = ({ id, status, model, queued, lastActivity }: AgentView) => ({
  agent_id: id,
  status,
  model: model ?? null,
  queued,
  last_activity: new Date(lastActivity).toISOString(),
});
