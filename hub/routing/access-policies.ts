import {
  type Policy,
  type Principal,
  type ToolGrants,
  restrictToGrants,
  restrictToProfile,
} from '#policy';
import type { Servers } from '#servers';
import type { AccessRules, AccessSource } from './access-source.ts';

/** The policy of a principal under these rules; undefined if everything is shown and allowed. */
type PolicyOf = (principal: Principal, rules: AccessRules) => Policy | undefined;

/** The profile through which a principal looks. Agents look through none: they have grants. */
export const profileOf = (
  { kind, name, profile }: Principal,
  { profilesOfClients }: AccessRules,
): string | undefined =>
  kind === 'agent'
    ? undefined
    : (profile ?? (kind === 'client' ? profilesOfClients.get(name) : undefined));

const nothing: ToolGrants = { tools: [], servers: [] };

/** The policy of the config for each principal: for agents what they are granted of it, for others what their profile shows. */
export function createPolicies({
  source,
  servers,
}: {
  readonly source: Pick<AccessSource, 'grantsOf'>;
  readonly servers: Pick<Servers, 'all'>;
}): PolicyOf {
  /** The policies of agents by their grants, which agents without any share. */
  const ofAgents = new WeakMap<
    ToolGrants,
    { readonly base: Policy | undefined; readonly policy: Policy }
  >();
  /** The policies of profiles, by their names. */
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
