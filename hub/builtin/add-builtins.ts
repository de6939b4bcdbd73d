import type { AuditedChange } from '#audit';
import { builtinNameOf } from '#config';
import { type Clock, type Event, createEmitter } from '#core';
import type { PromptSource } from '#routing';
import { type ListKind, type Server, type Servers, describeServer } from '#servers';
import { type AgentsServerNeeds, createAgentsServer } from './agents.ts';
import { type DocumentationServerNeeds, createDocumentationServer } from './documentation.ts';
import type { BuiltinPrompt, BuiltinServer, BuiltinTool } from './builtin-server.ts';
import type { FanOutServer } from './fan-out/fan-out.ts';
import { createEnhancePrompt, createEnhanceTool } from './enhance-prompt.ts';
import { createManagementTools } from './manage-servers.ts';
import { createBuiltin } from './server.ts';
import { createServersResource } from './servers-resource.ts';
import { type TasksServerNeeds, createTasksServer } from './task-pipeline.ts';
import { whenTurned } from './when-turned.ts';

/** The setting `"management_tools"` of the config: whether the management tools are offered. */
export type Management = {
  readonly isOn: () => boolean;
  readonly changed: Event<unknown>;
  /** Records a change that a tool made in the audit log. Absent: nothing is recorded. */
  readonly record?: (change: AuditedChange) => void;
};

type AddBuiltinsNeeds = {
  readonly clock: Clock;
  readonly hubVersion: string;
  /** Absent: the hub offers no prompt enhancement. */
  readonly prompts?: PromptSource;
  /** Absent: the hub has no management tools. */
  readonly management?: Management;
  /** Absent: the hub has no agents. */
  readonly agents?: Pick<AgentsServerNeeds, 'agents' | 'isOn' | 'changed'>;
  /** Absent: the hub cannot document repositories. */
  readonly documentation?: Omit<DocumentationServerNeeds, 'clock'>;
  /** Absent: the hub has no task pipeline. */
  readonly tasks?: Pick<TasksServerNeeds, 'tasks' | 'jobs' | 'isOn' | 'changed'>;
  /** Absent: the hub has no fan-out tools. */
  readonly fanOut?: FanOutServer;
};

/**
 * Adds the built-in servers before the servers of the config. `all` is for calls. `shown` is for people, and lists only
 * built-in servers that offer tools. In both, each server can be found by name.
 */
export function addBuiltins(
  servers: Servers,
  needs: AddBuiltinsNeeds,
): { readonly all: Servers; readonly shown: Servers } {
  const { clock, management, agents, documentation, tasks, fanOut } = needs;
  const record = management?.record && { record: management.record };
  const isTaken = (name: string) => servers.find(name) !== undefined;
  const builtins = [
    createAgentHub(servers, () => shown, needs),
    agents && createAgentsServer({ ...agents, ...record }),
    documentation && createDocumentationServer({ ...documentation, clock }),
    tasks && createTasksServer({ ...tasks, ...record, clock }),
    fanOut,
  ].flatMap(builtin =>
    builtin ? createBuiltin(builtin, () => builtinNameOf(builtin.name, isTaken), needs) : [],
  );
  const shown = join(servers, builtins, ({ listing }) => listing.tool.length > 0);
  return { all: join(servers, builtins, () => true), shown };
}

/** Creates the server `agenthub`, which improves prompts, and shows and manages the servers of the hub. */
function createAgentHub(
  servers: Servers,
  shown: () => Servers,
  { clock, prompts, management }: AddBuiltinsNeeds,
): BuiltinServer {
  const { event: changed, fire } = createEmitter<ListKind>();
  // Created when they are listed for the first time.
  let enhancing: { readonly tool: BuiltinTool; readonly prompt: BuiltinPrompt } | undefined;
  let managing: readonly BuiltinTool[] | undefined;

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
  if (management) whenTurned(management, () => fire('tool'));

  return {
    name: 'agenthub',
    description: 'The hub itself: improves prompts and shows the servers of the hub.',
    tools() {
      const enhance = offered();
      return [
        ...(enhance ? [enhance.tool] : []),
        ...(management?.isOn()
          ? (managing ??= createManagementTools(shown, management.record))
          : []),
      ];
    },
    prompts() {
      const enhance = offered();
      return enhance ? [enhance.prompt] : [];
    },
    resources: [
      createServersResource(servers, () => ({ servers: shown().all.map(describeServer) }), clock),
    ],
    changed,
  };
}

function join(
  servers: Servers,
  builtins: readonly Server[],
  isShown: (builtin: Server) => boolean,
): Servers {
  const changed = createEmitter<undefined>();
  let all: readonly Server[] = [];
  let isCurrent = false;
  const outdate = () => {
    isCurrent = false;
    changed.fire(undefined);
  };
  servers.changed(outdate);
  for (const builtin of builtins) builtin.listed(outdate);
  const findBuiltin = (name: string) => builtins.find(({ config }) => config.name === name);
  return {
    ...servers,
    get all() {
      if (!isCurrent) all = [...builtins.filter(isShown), ...servers.all];
      isCurrent = true;
      return all;
    },
    changed: changed.event,
    find: name => servers.find(name) ?? findBuiltin(name),
    get: name => findBuiltin(name) ?? servers.get(name),
  };
}
