import { isDeepStrictEqual } from 'node:util';
import type { Config, ConfigChange, ToolSettings } from '#config';
import { type Event, createEmitter } from '#core';
import { type Policy, type ProfileRules, type ToolGrants, createPolicy, hasPolicy } from '#policy';

/** What the active config allows and shows. Another config makes another one. */
export type AccessRules = {
  /** Undefined if everything is allowed. */
  readonly policy: Policy | undefined;
  readonly profiles: ReadonlyMap<string, ProfileRules>;
  /** The default profiles of clients, by the names of the clients. */
  readonly profilesOfClients: ReadonlyMap<string, string>;
};

type AccessChange = {
  readonly before: AccessRules;
  /** Names of the servers whose `tools` changed. */
  readonly servers: readonly string[];
};

/** What the active config says about access. */
export type AccessSource = {
  readonly rules: AccessRules;
  readonly toolsOf: (server: string) => ToolSettings | undefined;
  /** The grants of an agent. Absent: agents may use nothing. */
  readonly grantsOf?: ((agent: string) => ToolGrants) | undefined;
  /** Fires after other rules, or other `tools` of a server, became active. */
  readonly changed: Event<AccessChange>;
};

type AccessConfig = Pick<Config, 'policy' | 'servers' | 'profiles' | 'clients'>;

/** Compiles the rules of the active config, again at each change. */
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

/** The profiles, with the servers that have their tags. */
function profilesIn({ profiles = [], servers, clients = [] }: AccessConfig) {
  const rulesOf = ({ tags, servers: named, ...rules }: (typeof profiles)[number]): ProfileRules => {
    const tagged = servers.filter(server => server.tags.some(tag => tags.includes(tag)));
    // A tag that no server has shows nothing, where no list at all would show everything.
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

/** Without a config everybody may use everything. */
export const openAccess: AccessSource = {
  rules: { policy: undefined, profiles: new Map(), profilesOfClients: new Map() },
  toolsOf: () => undefined,
  changed: () => ({ [Symbol.dispose]() {} }),
};
