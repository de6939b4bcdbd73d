import { isDeepStrictEqual } from 'node:util';
import type { Config, ConfigChange, ToolSettings } from '#config';
import { type Event, HubError, createEmitter } from '#core';
import {
  type Policy,
  type Principal,
  type ProfileRules,
  type ToolGrants,
  compilePatterns,
  createPolicy,
  hasPolicy,
  restrictToGrants,
  restrictToProfile,
} from '#policy';
import type { Servers } from '#servers';

/** Policy and profiles of the active config. A reload creates a new object. */
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

/** Looks up the names of profiles in the active config. */
export const createProfiles = (source: Pick<AccessSource, 'rules'>) => ({
  has: (name: string): boolean => source.rules.profiles.has(name),
  /** Throws HUB_PROFILE_UNKNOWN if the config has no such profile. The error lists the profiles that exist. */
  require(name: string): void {
    const { profiles } = source.rules;
    if (profiles.has(name)) return;
    const known =
      profiles.size > 0 ? `Profiles are: ${[...profiles.keys()].join(', ')}` : 'It has none';
    throw new HubError(
      'HUB_PROFILE_UNKNOWN',
      `no profile of the config is called ${JSON.stringify(name)}. ${known}. Add it to "profiles", or connect without a profile`,
      { data: { profile: name } },
    );
  },
});

/** Returns the policy of a principal under these rules; undefined if the principal may list and call everything. */
type PolicyOf = (principal: Principal, rules: AccessRules) => Policy | undefined;

/** Returns the name of a principal's profile; undefined without one. Agents have grants instead of a profile. */
const profileOf = (
  { kind, name, profile }: Principal,
  { profilesOfClients }: AccessRules,
): string | undefined =>
  kind === 'agent'
    ? undefined
    : (profile ?? (kind === 'client' ? profilesOfClients.get(name) : undefined));

/** Returns a function that makes a value of a profile, once for the same access rules. */
function oncePerProfile<T>(make: (profile: string, rules: AccessRules) => T) {
  const byRules = new WeakMap<AccessRules, Map<string, T>>();
  return (profile: string, rules: AccessRules): T => {
    const made = byRules.get(rules) ?? new Map<string, T>();
    byRules.set(rules, made);
    const value = made.get(profile) ?? make(profile, rules);
    made.set(profile, value);
    return value;
  };
}

const nothing: ToolGrants = { tools: [], servers: [] };

/**
 * Returns a function that compiles the policy of a principal: for an agent by its grants, for others by their profile.
 */
export function createPolicies({
  source,
  servers,
}: {
  readonly source: Pick<AccessSource, 'grantsOf'>;
  readonly servers: Pick<Servers, 'all'>;
}): PolicyOf {
  /** Policies of agents, by their grants. Agents without grants share one policy. */
  const ofAgents = new WeakMap<
    ToolGrants,
    { readonly base: Policy | undefined; readonly policy: Policy }
  >();
  const isClosed = (name: string) =>
    servers.all.find(({ config }) => config.name === name)?.isBuiltin === true;

  function ofAgent(name: string, base: Policy | undefined): Policy {
    const grants = source.grantsOf?.(name) ?? nothing;
    const known = ofAgents.get(grants);
    if (known && known.base === base) return known.policy;
    const policy = restrictToGrants(grants, base, isClosed);
    ofAgents.set(grants, { base, policy });
    return policy;
  }

  const ofProfile = oncePerProfile((profile, { profiles, policy }) =>
    restrictToProfile(profile, profiles.get(profile), policy),
  );

  return (principal, rules) => {
    if (principal.kind === 'agent') return ofAgent(principal.name, rules.policy);
    const profile = profileOf(principal, rules);
    return profile === undefined ? rules.policy : ofProfile(profile, rules);
  };
}

/** Tools that a client in find mode lists. */
type FindView = {
  /** True for a tool that is listed, given by its public name. */
  readonly isPinned: (publicName: string) => boolean;
};

/**
 * Creates a function that returns the view of a principal; undefined if it is not in find mode. If `finds` is false,
 * no principal is in find mode.
 */
export function createFindViews(finds = false) {
  const ofProfile = oncePerProfile((profile, { profiles }): FindView => ({
    isPinned: compilePatterns(profiles.get(profile)?.find?.pinned ?? []),
  }));
  return (principal: Principal, rules: AccessRules): FindView | undefined => {
    const profile = finds ? profileOf(principal, rules) : undefined;
    if (profile === undefined || !rules.profiles.get(profile)?.find) return undefined;
    return ofProfile(profile, rules);
  };
}
