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
  /** In file order. If two servers want the same public name, the first one gets it. */
  readonly servers: readonly ServerConfig[];
  readonly naming: Naming;
  /** Environment variables override it. */
  readonly listen?: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
  };
  /** Secret. */
  readonly token?: string;
  readonly administration?: 'on' | 'off';
  readonly logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Every place that refers to a secret, in disabled servers too. `server` is undefined outside of servers. */
  readonly secretUses?: readonly SecretUse[];
  /** Whether principals with the administer grant are offered the management tools. */
  readonly managementTools?: boolean;
  /** `required`: calls need a token. ROUTER_TOKEN requires it too. */
  readonly tokens?: 'optional' | 'required';
  readonly clients?: readonly ClientConfig[];
  /** Absent: the defaults of `readAudit`. */
  readonly audit?: AuditConfig;
  /** Absent: the defaults of `readActivity`. */
  readonly activity?: ActivityConfig;
  /** Absent: the defaults of `readModels`. */
  readonly models?: ModelsConfig;
  /** Absent: the defaults of `readAgents`. */
  readonly agents?: AgentsConfig;
  /** Absent: the defaults of `readDocumentation`. */
  readonly documentation?: DocumentationConfig;
  /** Absent: the defaults of `readTasks`. */
  readonly tasks?: TasksConfig;
  /** Folders that the call scope may name for tasks and documentation, as absolute paths. Absent: none. */
  readonly repositories?: readonly string[];
  /** The first rule that matches decides. Default: everything is allowed. */
  readonly policy?: readonly PolicyRule[];
  /** Absent: there are none. */
  readonly profiles?: readonly ProfileConfig[];
  /** Absent: there are none. */
  readonly fanOut?: readonly FanOutConfig[];
  /** Absent: the defaults of `readApprovals`. */
  readonly approvals?: ApprovalsConfig;
  /** Absent: the defaults of `readCatalog`. */
  readonly catalog?: CatalogConfig;
  /** Limits of each session of a caller that is not a client by name. */
  readonly perSession?: CallLimitsConfig;
};

/** A place in the files that refers to a secret. */
export type SecretUse = {
  readonly secret: string;
  readonly server?: string;
  /** Where the config uses the secret, such as `servers.github.env.TOKEN`. */
  readonly path: string;
  /** The config has a value for the case that the secret is not set. */
  readonly hasDefault?: boolean;
};

/** How tools and prompts are named on `/mcp` (spec 5.2). */
export type Naming = {
  readonly separator: '_' | '__' | '.';
  /** In characters. Longer names are cut and end in a stable hash. */
  readonly maxLength: number;
};
