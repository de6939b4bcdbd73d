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
};
