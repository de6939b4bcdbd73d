import { type Clock, type Event, type JsonObject, createEmitter } from '#core';
import type { PromptSource } from '#routing';
import type { ListKind, Servers } from '#servers';
import type { BuiltinPrompt, BuiltinServer, BuiltinTool } from './builtin-server.ts';
import { createEnhancePrompt, createEnhanceTool } from './enhance-prompt.ts';
import { createManagementTools } from './manage-servers.ts';
import { createServersResource } from './servers-resource.ts';

/** Whether the management tools are offered: `"management_tools"` of the config. */
export type Management = { readonly isOn: () => boolean; readonly changed: Event<unknown> };

export type AgentHubNeeds = {
  readonly servers: Servers;
  /** The servers that people see. */
  readonly shown: () => Pick<Servers, 'all' | 'get'>;
  readonly snapshot: () => JsonObject;
  readonly clock: Pick<Clock, 'after'>;
  /** Absent: the hub improves no prompts. */
  readonly prompts: PromptSource | undefined;
  /** Absent: the hub cannot be managed over MCP. */
  readonly management: Management | undefined;
};

/** The server `agenthub`: it improves prompts, shows the servers of the hub, and manages them for its owner. */
export function createAgentHub({
  servers,
  shown,
  snapshot,
  clock,
  prompts,
  management,
}: AgentHubNeeds): BuiltinServer {
  const { event: changed, fire } = createEmitter<ListKind>();
  // Made for the first list that has them.
  let enhancing: { readonly tool: BuiltinTool; readonly prompt: BuiltinPrompt } | undefined;
  let managing: readonly BuiltinTool[] | undefined;
  let isManaged = management?.isOn() === true;

  function offered() {
    if (!prompts?.isOffered) return undefined;
    return (enhancing ??= {
      tool: createEnhanceTool(prompts),
      prompt: createEnhancePrompt(prompts),
    });
  }

  prompts?.changed(() => {
    fire('tool');
    fire('prompt');
  });
  management?.changed(() => {
    if (management.isOn() === isManaged) return;
    isManaged = !isManaged;
    fire('tool');
  });

  return {
    name: 'agenthub',
    description: 'The hub itself: improves prompts and shows the servers of the hub.',
    tools() {
      const enhance = offered();
      return [
        ...(enhance ? [enhance.tool] : []),
        ...(isManaged ? (managing ??= createManagementTools(shown)) : []),
      ];
    },
    prompts() {
      const enhance = offered();
      return enhance ? [enhance.prompt] : [];
    },
    resources: [createServersResource(servers, snapshot, clock)],
    changed,
  };
}
