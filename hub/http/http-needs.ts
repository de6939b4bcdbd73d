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

/** What the HTTP room needs. It builds none of these itself. */
export type HttpNeeds = {
  readonly servers: Servers;
  readonly router: Router;
  readonly streamable: Streamable;
  readonly connections: Pick<Connections, 'size' | 'isDraining'>;
  readonly webSockets: WebSockets;
  /** The bytes of bodies that are not complete, and of answers that clients have not read. Absent: not counted. */
  readonly unfinished?: ByteBudget;
  readonly unread?: ByteBudget;
  readonly sse: Sse;
  readonly engine: Engine;
  readonly config: ConfigControl;
  /** How breakers stand with those of other hubs. */
  readonly sharing: Pick<Sharing, 'status'>;
  /** What the guard asks besides its options. Absent: nobody is logged in, and only ROUTER_TOKEN is a token. */
  readonly guard?: Partial<GuardNeeds>;
  /** The kernel's tables of sockets, and the user that the hub runs as. Absent: users are not told apart. */
  readonly peers?: PeersNeeds;
  /** Absent: servers are installed and removed in the file only. */
  readonly installs?: Pick<Installs, 'install' | 'remove' | 'review'>;
  /** What outlives a request: installs, as far as they are. */
  readonly jobs: Jobs;
  /** What improves prompts, loaded with the first use. Absent: the hub improves none. */
  readonly prompts?: () => Promise<Prompts>;
  readonly promptHealth?: PromptHealth;
  /** The newest calls, and what they took. */
  readonly activity: Activity;
  readonly metrics: Metrics;
  /** What the hub itself takes of the machine's memory, in bytes. */
  readonly residentBytes: () => number;
  /** Removes what must not be shown from what a server wrote. */
  readonly redact: (text: string) => string;
  readonly hubVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
};
