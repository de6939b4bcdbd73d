import type { Event, JsonObject } from '#core';
import type { SpentTokens } from '#models';
import type { AgentSettings } from '../agent-types.ts';

/** The containers of agents. */
export interface AgentHost {
  /** The body of an agent. Starts nothing. */
  open(id: string): AgentBody;
}

/** The container of one agent, and the connection to it. */
export interface AgentBody {
  /** Id of the container; undefined while none runs. */
  readonly containerId: string | undefined;
  /** Id of the container from its creation, before it runs, until the engine has removed it. */
  readonly existing: string | undefined;
  /** Fires when the container has started or ended, or no longer exists. */
  readonly changed: Event<unknown>;
  /** Starts or adopts the container, and resolves with its id. Rejects with HubError if it does not start. */
  ready(signal: AbortSignal): Promise<string>;
  /** Adopts the container of an earlier run. Resolves with false if there is none. */
  adopt(): Promise<boolean>;
  /**
   * Calls a tool of the agent and resolves with its structured content. Rejects with HubError: HUB_AGENT_DIED, or the
   * reason for which the hub stopped it, when the container ends.
   */
  call(tool: string, args: object, timeoutMs: number): Promise<JsonObject>;
  /** Ends the container, and with it the calls under way. */
  stop(): Promise<void>;
  /** Removes the container with its network. The body cannot be used afterwards. */
  discard(): Promise<void>;
}

/** What the connections of agents need of the rest of the room. */
export type AgentDesk = {
  readonly settings: (id: string) => AgentSettings;
  /** What agents have spent on models, which outlives their containers and the hub. `earlier` has what was saved last. */
  readonly spending: {
    readonly earlier: (id: string) => readonly SpentTokens[];
    readonly save: (id: string, spent: readonly SpentTokens[]) => void;
  };
  /** The container of the agent exists, and does not run before this resolves. Must not reject. */
  created(id: string): Promise<void>;
  /** Sends a message to another agent, and resolves with the result of the tool. */
  useAgent(from: string, args: unknown, signal: AbortSignal): Promise<JsonObject>;
  /** Pieces of text and tool calls of the message under way. */
  heard(id: string, event: HeardEvent): void;
};

/** An event without the id of its message, which the desk knows. */
export type HeardEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool'; readonly name: string; readonly input?: JsonObject }
  | { readonly type: 'tool_result'; readonly name: string; readonly isError: boolean };
