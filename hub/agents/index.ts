export { createAgentHost } from './host/agent-host.ts';
export type { AgentDesk, AgentHost } from './host/host-types.ts';
export type { AgentEvent, AgentFile, AgentView, Agents } from './agent-types.ts';
export type { AgentContent, AgentMessage } from './session-schema.ts';
export { type AgentsLimits, createAgents } from './agents.ts';
export { describeBriefly } from './describe-briefly.ts';
