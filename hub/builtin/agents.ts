import type { Agents } from '#agents';
import type { AuditedChange } from '#audit';
import { type Event, createEmitter } from '#core';
import type { ListKind } from '#servers';
import { conversationOf, idIn, uriOf } from './agent-conversation.ts';
import { createAgentTools } from './agent-tools.ts';
import type { BuiltinResource, BuiltinServer, BuiltinTool } from './builtin-server.ts';
import { whenTurned } from './when-turned.ts';

export type AgentsServerNeeds = {
  readonly agents: Agents;
  /** True if Docker and a model for agents are available. Otherwise no tools are listed. */
  readonly isOn: () => boolean;
  readonly changed: Event<unknown>;
  readonly record?: (change: AuditedChange) => void;
};

/** Creates the server `agents`. Its clients send work to agents, and read their answers. */
export function createAgentsServer(needs: AgentsServerNeeds): BuiltinServer {
  const { agents, isOn } = needs;
  const { event: changed, fire } = createEmitter<ListKind>();
  let made: readonly BuiltinTool[] | undefined;
  let resources: readonly BuiltinResource[] = [];

  whenTurned(needs, () => fire('tool'));
  agents.events(({ event }) => {
    if (event.type !== 'view') return;
    const ids = agents.list().map(({ id }) => id);
    if (ids.join() === resources.map(({ uri }) => idIn(uri)).join()) return;
    const before = new Map(resources.map(resource => [resource.uri, resource]));
    resources = ids.map(id => before.get(uriOf(id)) ?? conversationOf(id, agents));
    fire('resource');
  });

  return {
    name: 'agents',
    description: 'Agents of this hub: they work in containers with files, a shell and Python.',
    tools: () => (isOn() ? (made ??= createAgentTools(agents, needs.record ?? (() => {}))) : []),
    prompts: () => [],
    get resources() {
      return resources;
    },
    changed,
    hasTasks: true,
  };
}
