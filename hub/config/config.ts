import type { ApprovalsConfig } from './approvals-schema.ts';
import type { CatalogConfig } from './catalog-schema.ts';
import type { ActivityConfig } from './activity-schema.ts';
import type { AuditConfig } from './audit-schema.ts';
import type { AgentsConfig } from './agents-schema.ts';
import type { DocumentationConfig } from './documentation.ts';
import type { ModelsConfig } from './models.ts';
import type { CallLimitsConfig, ClientConfig } from './clients.ts';
import type { PolicyRule } from './policy-schema.ts';
import type { FanOutConfig } from './fan-out.ts';
import type { ProfileConfig } from './profiles-schema.ts';
import type { TasksConfig } from './tasks-schema.ts';
import type { ServerConfig } from './normalize.ts';

/** The active config: the content of the files, with all defaults filled in. */
export type Config = {
  /** Servers in file order. If two servers want the same public name, the first one gets it. */
  readonly servers: readonly ServerConfig[];
  readonly naming: Naming;
  /** Address of the hub. Environment variables override it. */
  readonly listen?: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
  };
  /** Bearer token of the hub (secret). */
  readonly token?: string;
  readonly administration?: 'on' | 'off';
  readonly logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Every place that refers to a secret, in disabled servers too. `server` is absent for places outside of servers. */
  readonly secretUses?: readonly SecretUse[];
  /** True if principals with the administer grant see the management tools. */
  readonly managementTools?: boolean;
  /** With `required`, calls need a token, as they also do if ROUTER_TOKEN is set. */
  readonly tokens?: 'optional' | 'required';
  readonly clients?: readonly ClientConfig[];
  /** Options of the audit log; if absent, the defaults of `readAudit`. */
  readonly audit?: AuditConfig;
  /** Options of the list of recent calls; if absent, the defaults of `readActivity`. */
  readonly activity?: ActivityConfig;
  /** Models and their providers; if absent, the defaults of `readModels`. */
  readonly models?: ModelsConfig;
  /** Options of agents; if absent, the defaults of `readAgents`. */
  readonly agents?: AgentsConfig;
  /** Options of documentation runs; if absent, the defaults of `readDocumentation`. */
  readonly documentation?: DocumentationConfig;
  /** Options of tasks; if absent, the defaults of `readTasks`. */
  readonly tasks?: TasksConfig;
  /**
   * Absolute paths of the folders that principals with the call scope may use in tasks and documentation; none if
   * absent.
   */
  readonly repositories?: readonly string[];
  /** Rules of the policy. The first rule that matches decides. If absent, everything is allowed. */
  readonly policy?: readonly PolicyRule[];
  readonly profiles?: readonly ProfileConfig[];
  readonly fanOut?: readonly FanOutConfig[];
  /** Options of approvals by a person; if absent, the defaults of `readApprovals`. */
  readonly approvals?: ApprovalsConfig;
  /** Options of the catalog of servers; if absent, the defaults of `readCatalog`. */
  readonly catalog?: CatalogConfig;
  /** Limits of each session of a caller without an entry in `clients`. */
  readonly perSession?: CallLimitsConfig;
};

/** A place in the config files that refers to a secret. */
export type SecretUse = {
  readonly secret: string;
  readonly server?: string;
  /** Path of the value that refers to the secret, such as `servers.github.env.TOKEN`. */
  readonly path: string;
  /** True if the config has a default value for an unset secret. */
  readonly hasDefault?: boolean;
};

/** Length of the hash behind a "_" at the end of a name that was cut. */
export const nameHashLength = 7;

/** How tools and prompts are named on `/mcp` (spec 5.2). */
export type Naming = {
  readonly separator: '_' | '__' | '.';
  /** Maximum length of a name in characters. Longer names are cut and end in a stable hash. */
  readonly maxLength: number;
};
