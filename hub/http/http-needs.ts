import type { Activity } from '#activity';
import type { Clock, Log } from '#core';
import type { Installs } from '#installs';
import type { Jobs } from '#jobs';
import type { Sharing } from '#resilience';
import type { Router } from '#routing';
import type { Servers } from '#servers';
import type { Metrics } from '#telemetry';
import type { ByteBudget, Connections, Sse, Streamable, WebSockets } from '#transports';
import type { GuardNeeds } from './guard.ts';
import type { PeersNeeds } from './peers.ts';
import type { ConfigControl } from './routes/config.ts';
import type { Engine } from './routes/health.ts';
import type { Prompts } from './routes/ollama.ts';
import type { PromptHealth } from './routes/prompt-health.ts';

/** The other rooms that HTTP uses. */
export type HttpNeeds = {
  readonly servers: Servers;
  readonly router: Router;
  readonly streamable: Streamable;
  readonly connections: Pick<Connections, 'size' | 'isDraining'>;
  readonly webSockets: WebSockets;
  /** The bytes of incomplete bodies and of unread answers. Absent: they are not counted. */
  readonly unfinished?: ByteBudget;
  readonly unread?: ByteBudget;
  readonly sse: Sse;
  readonly engine: Engine;
  readonly config: ConfigControl;
  /** Whether breakers are shared with other hubs. */
  readonly sharing: Pick<Sharing, 'status'>;
  /** Logins and the made token. Absent: there are none. */
  readonly guard?: Partial<GuardNeeds>;
  /** The kernel's socket tables and the user of the hub. Absent: the users of connections are not checked. */
  readonly peers?: PeersNeeds;
  /** Absent: servers can be installed and removed in the config file only. */
  readonly installs?: Pick<Installs, 'install' | 'remove' | 'review'>;
  /** Work that outlives a request, such as installs. */
  readonly jobs: Jobs;
  /** Loads the prompt enhancer on first use. Absent: the hub improves no prompts. */
  readonly prompts?: () => Promise<Prompts>;
  readonly promptHealth?: PromptHealth;
  /** The newest calls. */
  readonly activity: Activity;
  readonly metrics: Metrics;
  /** Resident memory of the hub, in bytes. */
  readonly residentBytes: () => number;
  /** Removes secrets from a text of a server. */
  readonly redact: (text: string) => string;
  readonly hubVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
};
