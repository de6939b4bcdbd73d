import { isDeepStrictEqual } from 'node:util';
import type { Config, ConfigChange, ToolSettings } from '#config';
import { type Event, createEmitter } from '#core';
import { type Policy, type ProfileRules, type ToolGrants, createPolicy, hasPolicy } from '#policy';

/** Access rules of the active config: what clients may use, and what profiles show. A reload creates a new object. */
export type AccessRules = {
  /** Policy of the config; undefined if everything is allowed. */
  readonly policy: Policy | undefined;
  readonly profiles: ReadonlyMap<string, ProfileRules>;
  /** Default profile of each client, by the name of the client. */
  readonly profilesOfClients: ReadonlyMap<string, string>;
};

type AccessChange = {
  readonly before: AccessRules;
  /** Names of the servers whose `tools` changed. */
  readonly servers: readonly string[];
};

/** Access settings of the active config. */
export type AccessSource = {
  readonly rules: AccessRules;
  readonly toolsOf: (server: string) => ToolSettings | undefined;
  /** Returns the grants of an agent. Absent: agents may use nothing. */
  readonly grantsOf?: ((agent: string) => ToolGrants) | undefined;
  /** Fires after new access rules, or new `tools` of a server, became active. */
  readonly changed: Event<AccessChange>;
};

type AccessConfig = Pick<Config, 'policy' | 'servers' | 'profiles' | 'clients'>;

/** Compiles the access rules of the active config, and compiles them again after each reload that changes them. */
export function createAccessSource(
  source: {
    readonly current: AccessConfig;
    readonly changed: Event<Pick<ConfigChange, 'before' | 'after'>>;
  },
  grantsOf?: (agent: string) => ToolGrants,
): AccessSource {
  const changed = createEmitter<AccessChange>();
  const compile = (config: AccessConfig, before?: Policy) =>
    hasPolicy(config) ? createPolicy(config, before) : undefined;
  const toolsIn = ({ servers }: Pick<Config, 'servers'>) =>
    new Map(servers.flatMap(({ name, tools }) => (tools ? [[name, tools] as const] : [])));
  let rules: AccessRules = { policy: compile(source.current), ...profilesIn(source.current) };
  let tools = toolsIn(source.current);
  source.changed(({ before, after }) => {
    const toolsBefore = toolsIn(before);
    tools = toolsIn(after);
    const servers = after.servers
      .map(({ name }) => name)
      .filter(name => !isDeepStrictEqual(toolsBefore.get(name), tools.get(name)));
    const isSamePolicy = servers.length === 0 && isDeepStrictEqual(before.policy, after.policy);
    const { policy, ...views } = rules;
    const profiles = profilesIn(after);
    if (isSamePolicy && isDeepStrictEqual(views, profiles)) return;
    const old = rules;
    rules = { policy: isSamePolicy ? policy : compile(after, policy), ...profiles };
    changed.fire({ before: old, servers });
  });
  return {
    get rules() {
      return rules;
    },
    toolsOf: server => tools.get(server),
    grantsOf,
    changed: changed.event,
  };
}

/** Resolves the `tags` of each profile to the names of the servers that have one of them. */
function profilesIn({ profiles = [], servers, clients = [] }: AccessConfig) {
  const rulesOf = ({ tags, servers: named, ...rules }: (typeof profiles)[number]): ProfileRules => {
    const tagged = servers.filter(server => server.tags.some(tag => tags.includes(tag)));
    // If no server has one of the tags, the profile shows no server. An empty list would show all servers.
    const none = tags.length > 0 && tagged.length === 0 ? [''] : [];
    return { ...rules, servers: [...named, ...tagged.map(({ name }) => name), ...none] };
  };
  return {
    profiles: new Map(profiles.map(profile => [profile.name, rulesOf(profile)])),
    profilesOfClients: new Map(
      clients.flatMap(({ name, profile }) => (profile === undefined ? [] : [[name, profile]])),
    ),
  };
}

/** Access rules without a config: every principal may use everything. */
export const openAccess: AccessSource = {
  rules: { policy: undefined, profiles: new Map(), profilesOfClients: new Map() },
  toolsOf: () => undefined,
  changed: () => ({ [Symbol.dispose]() {} }),
};
