/** Rights of a principal besides making calls. */
export type Grants = {
  /** May change the hub and its servers, and read the requests that the servers received. */
  readonly administer: boolean;
};

/**
 * The authenticated caller of a request. The guard or the transport determines it, never the message. Principals are
 * constants: requests share one object, so a request allocates none.
 */
export type Principal = {
  readonly kind: 'local' | 'client' | 'agent' | 'job';
  /** Stable name for policy, audit and metrics, unique within its kind. */
  readonly name: string;
  readonly grants: Grants;
  /**
   * Profile that limits the servers and tools that the principal can list and use. It comes from the endpoint, and is
   * not part of the identity. Absent: the default profile of the client, if the client has one.
   */
  readonly profile?: string;
};

/** A caller without a token, if calls need none. */
export const openCaller: Principal = {
  kind: 'local',
  name: 'local',
  grants: { administer: false },
};

const viewers = new WeakMap<Principal, Map<string, Principal>>();

/** Returns the principal limited to a profile, which must exist. Each pair of principal and profile has one object. */
export function withProfile(principal: Principal, profile: string | undefined): Principal {
  if (profile === undefined || principal.profile === profile) return principal;
  const known = viewers.get(principal) ?? new Map<string, Principal>();
  viewers.set(principal, known);
  const viewer = known.get(profile) ?? { ...principal, profile };
  known.set(profile, viewer);
  return viewer;
}

const keys = new WeakMap<Principal, string>();

/** Returns a key for maps that is unique to the principal. The string is cached, as each call needs it. */
export function principalKey(principal: Principal): string {
  const known = keys.get(principal);
  if (known !== undefined) return known;
  const key = `${principal.kind}:${principal.name}`;
  keys.set(principal, key);
  return key;
}

/** True if two principals are the same caller. Their grants may differ. */
export const isSamePrincipal = (one: Principal, other: Principal): boolean =>
  one === other || (one.kind === other.kind && one.name === other.name);

/** Name of a principal in the policy, the audit log and metrics. Names of clients cannot contain ":". */
export const policyNameOf = ({ kind, name }: Principal): string =>
  kind === 'local' || kind === 'client' ? name : `${kind}:${name}`;

/** Returns an agent or a client with this name in the policy, for questions about what it may use. */
export function principalNamed(name: string): Principal {
  const [, agent] = /^agent:(.*)$/.exec(name) ?? [];
  const grants = { administer: false };
  return agent === undefined
    ? { kind: 'client', name, grants }
    : { kind: 'agent', name: agent, grants };
}
