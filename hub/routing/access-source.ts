import { isDeepStrictEqual } from 'node:util';
import type { Config, ConfigChange, ToolSettings } from '#config';
import { type Event, createEmitter } from '#core';
import { type Policy, type ToolGrants, createPolicy, hasPolicy } from '#policy';

export type AccessChange = {
  readonly before: Policy | undefined;
  /** Names of the servers whose `tools` changed. */
  readonly servers: readonly string[];
};

/** What the active config says about access. */
export type AccessSource = {
  /** Undefined if everything is allowed. */
  readonly policy: Policy | undefined;
  readonly toolsOf: (server: string) => ToolSettings | undefined;
  /** The grants of an agent. Absent: agents may use nothing. */
  readonly grantsOf?: ((agent: string) => ToolGrants) | undefined;
  /** Fires after another policy, or other `tools` of a server, became active. */
  readonly changed: Event<AccessChange>;
};

/** Compiles the policy of the active config, again at each change. */
export function createAccessSource(
  source: {
    readonly current: Pick<Config, 'policy' | 'servers'>;
    readonly changed: Event<Pick<ConfigChange, 'before' | 'after'>>;
  },
  grantsOf?: (agent: string) => ToolGrants,
): AccessSource {
  const changed = createEmitter<AccessChange>();
  const compile = (config: Pick<Config, 'policy' | 'servers'>, before?: Policy) =>
    hasPolicy(config) ? createPolicy(config, before) : undefined;
  const toolsIn = ({ servers }: Pick<Config, 'servers'>) =>
    new Map(servers.flatMap(({ name, tools }) => (tools ? [[name, tools] as const] : [])));
  let policy = compile(source.current);
  let tools = toolsIn(source.current);
  source.changed(({ before, after }) => {
    const toolsBefore = toolsIn(before);
    tools = toolsIn(after);
    const servers = after.servers
      .map(({ name }) => name)
      .filter(name => !isDeepStrictEqual(toolsBefore.get(name), tools.get(name)));
    if (servers.length === 0 && isDeepStrictEqual(before.policy, after.policy)) return;
    const old = policy;
    policy = compile(after, old);
    changed.fire({ before: old, servers });
  });
  return {
    get policy() {
      return policy;
    },
    toolsOf: server => tools.get(server),
    grantsOf,
    changed: changed.event,
  };
}

/** Without a config everybody may use everything. */
export const openAccess: AccessSource = {
  policy: undefined,
  toolsOf: () => undefined,
  changed: () => ({ [Symbol.dispose]() {} }),
};
