import type { NamedClient } from '#access';
import type { Audit } from '#audit';
import type { SecretStatus } from '#secrets';

/** A rule of the active policy, as the dashboard shows it. */
export type ShownRule = {
  readonly path: string;
  readonly rule: { readonly action: 'allow' | 'deny' | 'confirm' };
  /** Number of calls that the rule has decided. */
  readonly calls: number;
  /** Tool names in the rule that no server has. */
  readonly unknownTools: readonly string[];
};

/** Clients, secrets and tokens, for the access pages of the dashboard. */
export type DashboardAccess = {
  readonly needsToken: () => boolean;
  readonly clients: () => readonly NamedClient[];
  readonly secrets: () => Promise<readonly SecretStatus[]>;
  /** Revokes the token of a client. Rejects with HubError. */
  readonly revoke: (name: string) => Promise<void>;
};

/** Part of the audit log that the dashboard uses. */
export type DashboardAudit = Pick<Audit, 'list' | 'status'>;
