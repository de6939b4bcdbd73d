import type { NamedClient } from '#access';
import type { Audit } from '#audit';
import type { SecretStatus } from '#secrets';

/** A rule in force. */
export type ShownRule = {
  readonly path: string;
  readonly rule: { readonly action: 'allow' | 'deny' | 'confirm' };
  /** Calls that it decided. */
  readonly calls: number;
  /** Tools that it names and that no server has. */
  readonly unknownTools: readonly string[];
};

/** Who may do what, for the dashboard. */
export type DashboardAccess = {
  readonly needsToken: () => boolean;
  readonly clients: () => readonly NamedClient[];
  readonly secrets: () => Promise<readonly SecretStatus[]>;
  /** Revokes the token of a client. Rejects with HubError. */
  readonly revoke: (name: string) => Promise<void>;
};

/** The audit log, for the dashboard. */
export type DashboardAudit = Pick<Audit, 'list' | 'status'>;
