/** What a principal may do besides making calls. */
export type Grants = {
  /** Change the hub and its servers, and read what they were sent. */
  readonly administer: boolean;
};

/**
 * Who is calling. Decided by the guard or by the transport, never by the message. Principals are constants:
 * a request refers to one and makes none.
 */
export type Principal = {
  readonly kind: 'local' | 'client' | 'agent' | 'job';
  /** Stable name for policy, audit and metrics, unique within its kind. */
  readonly name: string;
  readonly grants: Grants;
  /**
   * The profile through which the principal looks at the servers, by the endpoint that it uses. It says what is listed and
   * used, not who is calling. Absent: the default profile of the client, if it has one.
   */
  readonly profile?: string;
};

/** A caller without a token, where calls are open. */
export const openCaller: Principal = {
  kind: 'local',
  name: 'local',
  grants: { administer: false },
};

const viewers = new WeakMap<Principal, Map<string, Principal>>();

/** A principal that looks at the servers through a profile, which must exist. One constant for each of them. */
export function withProfile(principal: Principal, profile: string | undefined): Principal {
  if (profile === undefined || principal.profile === profile) return principal;
  const known = viewers.get(principal) ?? new Map<string, Principal>();
  viewers.set(principal, known);
  const viewer = known.get(profile) ?? { ...principal, profile };
  known.set(profile, viewer);
  return viewer;
}

const keys = new WeakMap<Principal, string>();

/** Identifies a principal among all others, as a key of maps. One string for each principal: each call needs it. */
export function principalKey(principal: Principal): string {
  const known = keys.get(principal);
  if (known !== undefined) return known;
  const key = `${principal.kind}:${principal.name}`;
  keys.set(principal, key);
  return key;
}

/** Whether two principals are one caller. What it is granted may have changed between the two. */
export const isSamePrincipal = (one: Principal, other: Principal): boolean =>
  one === other || (one.kind === other.kind && one.name === other.name);

/** The name of a principal in the policy, the audit log and metrics. Names of clients cannot contain ":". */
export const policyNameOf = ({ kind, name }: Principal): string =>
  kind === 'local' || kind === 'client' ? name : `${kind}:${name}`;
