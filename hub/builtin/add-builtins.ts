import { builtinNameOf } from '#config';
import { type Clock, createEmitter } from '#core';
import type { PromptSource } from '#routing';
import { type Server, type Servers, describeServer } from '#servers';
import { type Management, createAgentHub } from './agenthub.ts';
import { createBuiltin } from './server.ts';

export type AddBuiltinsNeeds = {
  readonly clock: Clock;
  readonly hubVersion: string;
  readonly prompts?: PromptSource;
  readonly management?: Management;
};

/**
 * The servers of the config with those of the hub's own before them: `all` for calls, and `shown` for people, who are
 * shown the hub's own servers that offer tools. Either finds all of them by name.
 */
export function addBuiltins(
  servers: Servers,
  { clock, hubVersion, prompts, management }: AddBuiltinsNeeds,
): { readonly all: Servers; readonly shown: Servers } {
  const agentHub = createBuiltin(
    createAgentHub({
      servers,
      shown: () => shown,
      snapshot: () => ({ servers: shown.all.map(describeServer) }),
      clock,
      prompts,
      management,
    }),
    () => builtinNameOf('agenthub', name => servers.find(name) !== undefined),
    { clock, hubVersion },
  );
  const builtins = [agentHub];
  const shown = join(servers, builtins, ({ listing }) => listing.tool.length > 0);
  return { all: join(servers, builtins, () => true), shown };
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
