import type { Approvals } from '#approvals';
import type { Naming } from '#config';
import type { Clock, Log } from '#core';
import type { Servers } from '#servers';
import type { Tracer } from '#telemetry';
import type { ToolSearch } from '#toolsearch';
import type { AccessSource } from './access-rules.ts';
import type { AuditGate, Observer } from './answering.ts';
import type { ModelAnswerer } from './events/hub-models.ts';
import type { SamplingAnswerer } from './events/hub-sampling.ts';
import type { EarlierSession, SessionOptions } from './session.ts';
import type { PromptSource } from './steps/improve.ts';
import type { LimitNeeds } from './steps/limits.ts';

export type OpenOptions = Pick<
  SessionOptions,
  'isConnected' | 'over' | 'clientName' | 'clientRequestsChanged'
> & {
  /** A session of an earlier run of the hub to resume. */
  readonly earlier?: EarlierSession | undefined;
};

export type RouterOptions = {
  /** Number of the newest session of earlier runs of the hub. Sessions of this run continue the count. Absent: 0. */
  readonly lastSession?: number;
  readonly naming: () => Naming;
  readonly hubVersion: string;
  /** Id of the hub, which it tells hubs that use it as a server. Absent: it sends no id. */
  readonly hubId?: string;
  /** Answers sampling requests in place of clients that do not support sampling. Absent: no one does. */
  readonly sampling?: SamplingAnswerer;
  /** Answers model requests of `ollama-mcp`. Absent: such requests are refused. */
  readonly models?: ModelAnswerer;
  /** Approvals of calls. Absent: calls that a rule wants confirmed are refused. */
  readonly approvals?: Approvals;
  /** Finds tools for clients in find mode. Absent: no client is in that mode. */
  readonly search?: ToolSearch | undefined;
};

export type RouterNeeds = {
  readonly servers: Servers;
  readonly log: Log;
  readonly clock: Pick<Clock, 'after' | 'monotonic' | 'now'>;
  readonly newId: () => string;
  readonly prompts?: PromptSource;
  /** Decides what principals may use, and under which names. Absent: every principal may use everything. */
  readonly access?: AccessSource;
  /** Limits the calls of callers. Absent: callers have no limits. */
  readonly limits?: LimitNeeds;
  readonly observer?: Observer;
  /** The audit log. Absent: calls are not audited. */
  readonly audit?: AuditGate;
  /** Gives each request its place in a trace. Absent: tracing is off. */
  readonly tracer?: Tracer;
};
