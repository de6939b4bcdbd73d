import {
  type Policy,
  type Principal,
  type ToolGrants,
  restrictToGrants,
  restrictToProfile,
} from '#policy';
import type { Servers } from '#servers';
import type { AccessRules, AccessSource } from './access-source.ts';

/** Returns the policy of a principal under these rules; undefined if the principal may list and call everything. */
type PolicyOf = (principal: Principal, rules: AccessRules) => Policy | undefined;

/** Returns the name of the profile that filters what a principal sees. Agents have grants instead of a profile. */
export const profileOf = (
  { kind, name, profile }: Principal,
  { profilesOfClients }: AccessRules,
): string | undefined =>
  kind === 'agent'
    ? undefined
    : (profile ?? (kind === 'client' ? profilesOfClients.get(name) : undefined));

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
  /** Compiled policies of profiles, by access rules and then by name of the profile. */
  const ofProfiles = new WeakMap<AccessRules, Map<string, Policy>>();
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

  function ofProfile(name: string, rules: AccessRules): Policy {
    const compiled = ofProfiles.get(rules) ?? new Map<string, Policy>();
    ofProfiles.set(rules, compiled);
    const policy =
      compiled.get(name) ?? restrictToProfile(name, rules.profiles.get(name), rules.policy);
    compiled.set(name, policy);
    return policy;
  }

  return (principal, rules) => {
    if (principal.kind === 'agent') return ofAgent(principal.name, rules.policy);
    const own = profileOf(principal, rules);
    return own === undefined ? rules.policy : ofProfile(own, rules);
  };
}
