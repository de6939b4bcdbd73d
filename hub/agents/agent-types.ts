import type { Event, HubError, JsonObject, Service } from '#core';
import type { AgentMessage, AgentUsage, MessageFailure, MessageOutcome } from './session-schema.ts';

/** `running`: works on a message. `idle`: its container runs. `stopped`: the next message starts it. */
export type AgentStatus = 'running' | 'idle' | 'stopped';

/** What an agent may use. A new agent has no grants. */
type AgentGrants = {
  /** Patterns of tool names on /mcp. */
  readonly tools: readonly string[];
  /** Servers: the agent may use all of their tools. */
  readonly servers: readonly string[];
  /** Agents to which it may send messages with `use_agent`. */
  readonly agents: readonly string[];
  /** Whether it may load tools from its workspace. */
  readonly loadTool: boolean;
  readonly network: 'none' | { readonly allow: readonly string[] } | 'bridge';
};

type AgentBudget = {
  readonly tokensPerHour: number;
  readonly callsPerTurn: number;
  readonly stepsPerTurn: number;
};

export type AgentSettings = {
  /** Undefined: the default model of the hub. */
  readonly model: string | undefined;
  /** System prompt. Undefined: the general-purpose prompt of the image. */
  readonly system: string | undefined;
  readonly grants: AgentGrants;
  readonly budget: AgentBudget;
};

export type AgentView = {
  readonly id: string;
  readonly status: AgentStatus;
  /** The reason of the status, such as the failure of the last start. */
  readonly why?: string;
  readonly model: string | undefined;
  /** Number of messages that wait. */
  readonly queued: number;
  /** Milliseconds since the epoch. */
  readonly lastActivity: number;
  readonly containerId?: string;
  readonly usage: AgentUsage;
  readonly settings: AgentSettings;
  /** The message that the agent works on, since when (ms since the epoch), and the current activity in words. */
  readonly current?: {
    readonly messageId: string;
    readonly since: number;
    readonly doing: string;
  };
};

export type AgentEvent =
  | { readonly type: 'text'; readonly messageId: string; readonly text: string }
  | {
      readonly type: 'tool';
      readonly messageId: string;
      readonly name: string;
      readonly input?: JsonObject;
    }
  | {
      readonly type: 'tool_result';
      readonly messageId: string;
      readonly name: string;
      readonly isError: boolean;
    }
  | { readonly type: 'message'; readonly message: AgentMessage }
  | ({ readonly type: 'outcome'; readonly messageId: string } & MessageOutcome)
  | { readonly type: 'view' };

export type ConversationRequest = {
  /** Maximum number of messages. The newest are returned. */
  readonly count: number;
  /** Id of a message: only messages after it. */
  readonly since?: string;
  /** Time in ms to wait until the message `since`, or every message, has its outcome. */
  readonly waitMs?: number;
  /** Includes tool calls and their results. */
  readonly withTools?: boolean;
};

/** Messages, oldest first. */
export type Conversation = {
  readonly agentId: string;
  readonly status: AgentStatus;
  readonly messages: readonly AgentMessage[];
  /** Messages without an outcome in the order of the queue. The agent works on the first one. */
  readonly waiting: readonly AgentMessage[];
  /** Why some of `messages` have no answer, of the newest 100 that failed or were cancelled. */
  readonly failures: readonly MessageFailure[];
  /** Why the message `since` has no answer; without `since`, why the newest message has none. */
  readonly error?: { readonly code: string; readonly message: string };
};

/** A regular file in the workspace of an agent. */
export type AgentFile = {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly changedAt: number;
};

/** Reads the workspaces. Follows no symbolic link out of one. */
export interface AgentFiles {
  list(id: string): Promise<readonly AgentFile[]>;
  /** Rejects with HubError if the path is not a regular file in the workspace. The caller disposes the result. */
  open(id: string, path: string): Promise<AgentFileContent>;
}

export interface AgentFileContent extends AsyncDisposable {
  readonly bytes: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** The agents of the hub. */
export interface Agents {
  /** Starts and stops all agents with the hub. `stop` below stops one agent. */
  readonly service: Service;
  /**
   * Why the hub has no agents: there is no Docker, or a file of an agent could not be read at the start. All methods but
   * `list` then reject with this error.
   */
  readonly refusal: HubError | undefined;
  list(): readonly AgentView[];
  /** Throws HUB_AGENT_ID_INVALID, and HUB_AGENT_UNKNOWN. */
  get(id: string): AgentView;
  /** Queues a message, and creates the agent when it is new. `from`: the sender's name in the policy. */
  send(
    id: string,
    message: string,
    from: string,
  ): Promise<{
    readonly status: 'accepted';
    readonly messageId: string;
    readonly position: number;
  }>;
  messages(id: string, request: ConversationRequest, signal: AbortSignal): Promise<Conversation>;
  /** False if the message has ended already. */
  cancel(id: string, messageId: string): Promise<boolean>;
  configure(id: string, patch: unknown): Promise<AgentView>;
  stop(id: string): Promise<void>;
  /** Removes the agent with its conversation and its workspace. */
  remove(id: string): Promise<void>;
  /** Text events are pieces of a model's answer, as the model writes them. */
  readonly events: Event<{ readonly agent: string; readonly event: AgentEvent }>;
  readonly files: AgentFiles;
}
