import type { Event, JsonObject } from '#core';
import type { SpentTokens } from '#models';
import type { AgentSettings } from '../agent-types.ts';

/** Opens the containers of agents. */
export interface AgentHost {
  /** Returns the body of an agent, without a container yet. */
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
   * Calls a tool of the agent, and resolves with its structured content. If the container ends, rejects with
   * HUB_AGENT_DIED, or with the reason for which the hub stopped it.
   */
  call(tool: string, args: object, timeoutMs: number): Promise<JsonObject>;
  /** Ends the container, and with it the calls under way. */
  stop(): Promise<void>;
  /** Removes the container with its network. The body cannot be used afterwards. */
  discard(): Promise<void>;
}

/** The functions of `agents.ts` that the connections of agents use. */
export type AgentDesk = {
  readonly settings: (id: string) => AgentSettings;
  /** Tokens that agents have spent on models, kept across containers and runs of the hub. `earlier`: as saved last. */
  readonly spending: {
    readonly earlier: (id: string) => readonly SpentTokens[];
    readonly save: (id: string, spent: readonly SpentTokens[]) => void;
  };
  /** Called when the container is created. It starts when this resolves. Must not reject. */
  created(id: string): Promise<void>;
  /** Sends a message to another agent, and resolves with the result of the tool. */
  useAgent(from: string, args: unknown, signal: AbortSignal): Promise<JsonObject>;
  /** Reports a piece of text or a tool call of the current message. */
  heard(id: string, event: HeardEvent): void;
};

/** An event of the current message, without its id. */
export type HeardEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool'; readonly name: string; readonly input?: JsonObject }
  | { readonly type: 'tool_result'; readonly name: string; readonly isError: boolean };
