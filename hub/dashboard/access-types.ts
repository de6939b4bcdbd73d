import type { NamedClient } from '#access';

/** A rule in force. */
export type ShownRule = {
  readonly path: string;
  readonly rule: { readonly action: 'allow' | 'deny' | 'confirm' };
  /** Calls that it decided. */
  readonly calls: number;
  /** Tools that it names and that no server has. */
  readonly unknownTools: readonly string[];
};

/** A secret, without its value. */
export type ShownSecret = {
  readonly name: string;
  /** Where its value comes from; absent if it has none. */
  readonly source?: string;
  /** Why it has no value. */
  readonly reason?: string;
  readonly used_by: readonly { readonly server?: string; readonly path: string }[];
};

/** Who may do what, for the dashboard. */
export type DashboardAccess = {
  readonly needsToken: () => boolean;
  readonly clients: () => readonly NamedClient[];
  readonly secrets: () => Promise<readonly ShownSecret[]>;
  /** Revokes the token of a client. Rejects with HubError. */
  readonly revoke: (name: string) => Promise<void>;
};

/** A line of the audit log. `at` is an ISO time. */
export type ShownLine = {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly [member: string]: unknown;
};

type LineFilter = {
  readonly client?: string | undefined;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly isDenied?: boolean;
};

type AuditState =
  | { readonly kind: 'off' | 'up' }
  | { readonly kind: 'failing'; readonly reason: string };

/** The audit log, for the dashboard. */
export type DashboardAudit = {
  readonly status: () => Promise<AuditState>;
  /** Lines with numbers below `before`, newest first. `next` is the `before` of the next page. */
  readonly list: (
    filter: LineFilter,
    page: { readonly limit: number; readonly before?: number | undefined },
  ) => Promise<{ readonly lines: readonly ShownLine[]; readonly next: number | undefined }>;
};
