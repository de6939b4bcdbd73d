import type { JSONValue } from '@strands-agents/sdk';

/** A message of the conversation, in the notation of the hub. */
export type AgentMessage = {
  readonly message_id: string;
  readonly role: 'user' | 'assistant' | 'tool';
  /** ISO 8601. */
  readonly at: string;
  readonly content: readonly AgentContent[];
};

export type AgentContent =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: { readonly [key: string]: JSONValue };
    }
  | {
      readonly type: 'tool_result';
      readonly tool_use_id: string;
      readonly text: string;
      readonly is_error: boolean;
    };

export type Usage = { input_tokens: number; output_tokens: number; model_calls: number };

/** What the hub has set for this agent. */
export type Settings = {
  readonly model?: string | undefined;
  readonly system?: string | undefined;
  readonly steps_per_turn: number;
  readonly max_output_tokens?: number | undefined;
  /** Size of the model's context. Undefined: unknown. */
  readonly context_tokens?: number | undefined;
  readonly load_tool: boolean;
  readonly use_agent: readonly string[];
  readonly shell_seconds?: number | undefined;
};

/** The conversation of the agent, in an earlier container. */
export type Session = { readonly messages: readonly AgentMessage[]; readonly snapshot?: unknown };

/** What the hub tells the agent with a message. */
export type Briefing = {
  /** Undefined: those before. */
  readonly settings: Settings | undefined;
  /** Null for a new agent, undefined if the agent has it. */
  readonly session: Session | null | undefined;
};

/** How a turn has ended. */
export type TurnResult = {
  readonly message_id: string;
  readonly status: 'answered' | 'failed' | 'cancelled';
  readonly text: string;
  readonly error?: { readonly code: string; readonly message: string };
  /** Messages that were not handed over yet. */
  readonly messages: readonly AgentMessage[];
  readonly usage: Usage;
  readonly model: string | null;
  readonly snapshot: JSONValue;
};

/** The runtime of the agent. Another one can take its place. */
export interface Engine {
  /** Works on a message, one at a time. Never rejects: a failed turn is a result. */
  chat(messageId: string, message: string, signal: AbortSignal): Promise<TurnResult>;
  /** The newest messages, oldest first. */
  history(count: number): readonly AgentMessage[];
  health(): { readonly status: 'idle' | 'working'; readonly message_id?: string };
  /** Ends the turn of a message. False if it is not being worked on. */
  cancel(messageId: string): boolean;
}

/** A tool as the model sees it. */
export type AgentTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: JSONValue };
  /** Rejects with an error whose message is for the model. */
  readonly call: (input: unknown, signal: AbortSignal) => Promise<ToolOutput>;
};

export type ToolOutput = { readonly text: string; readonly isError?: boolean };
