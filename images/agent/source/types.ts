import type { JSONValue } from '@strands-agents/sdk';

/** A message of the conversation, in the format of the hub. */
export type AgentMessage = {
  readonly message_id: string;
  readonly role: 'user' | 'assistant' | 'tool';
  /** Time of the message, in ISO 8601. */
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

/** Settings of the agent, which the hub sends. */
export type Settings = {
  readonly model?: string | undefined;
  readonly system?: string | undefined;
  readonly steps_per_turn: number;
  /** Size of the model's context in tokens. Undefined if unknown. */
  readonly context_tokens?: number | undefined;
  readonly load_tool: boolean;
  readonly use_agent: readonly string[];
  readonly shell_seconds?: number | undefined;
};

/** The conversation of the agent from an earlier container. */
export type Session = { readonly messages: readonly AgentMessage[]; readonly snapshot?: unknown };

/** Settings and conversation that the hub sends with a message to the agent. */
export type Briefing = {
  /** Undefined if the earlier settings still apply. */
  readonly settings: Settings | undefined;
  /** The conversation so far: null for a new agent, undefined if the agent already has it. */
  readonly session: Session | null | undefined;
};

/** Result of a turn: the work of the agent on one message. */
export type TurnResult = {
  readonly message_id: string;
  readonly status: 'answered' | 'failed' | 'cancelled';
  readonly text: string;
  readonly error?: { readonly code: string; readonly message: string };
  /** Messages of the conversation that the hub has not received yet. */
  readonly messages: readonly AgentMessage[];
  readonly usage: Usage;
  readonly model: string | null;
  readonly snapshot: JSONValue;
};

/** A tool of the agent, with the name, description and schema that the model receives. */
export type AgentTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly [key: string]: JSONValue };
  /** Runs the tool. Rejects with an error whose message is for the model. */
  readonly call: (input: unknown, signal: AbortSignal) => Promise<ToolOutput>;
};

export type ToolOutput = { readonly text: string; readonly isError?: boolean };
