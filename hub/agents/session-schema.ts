import { z } from 'zod';

const contentSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.json()),
  }),
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    text: z.string(),
    is_error: z.boolean(),
  }),
]);

/** A message as the container of an agent sends it and as `session.json` stores it. */
export const messageSchema = z.object({
  message_id: z.string(),
  role: z.enum(['user', 'assistant', 'tool']),
  /** ISO 8601. */
  at: z.string(),
  content: z.array(contentSchema).readonly(),
});

export const usageSchema = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  model_calls: z.number(),
});

export const outcomeSchema = z.object({
  status: z.enum(['answered', 'failed', 'cancelled']),
  /** Why the message has no answer. */
  error: z.object({ code: z.string(), message: z.string() }).exactOptional(),
});

const failureSchema = z.object({ message_id: z.string(), code: z.string(), message: z.string() });

export const sessionSchema = z.object({
  version: z.literal(1),
  agentId: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  model: z.string().nullable(),
  messages: z.array(messageSchema),
  usage: usageSchema,
  /** The newest message that has its outcome, and the outcome. */
  lastMessageId: z.string().nullable(),
  lastOutcome: outcomeSchema.nullable(),
  /** Why the newest failed or cancelled messages have no answer. */
  failures: z.array(failureSchema).optional(),
  /** The state of the agent's runtime. The hub only stores it. */
  snapshot: z.unknown(),
});

/** One part of a message: a text, a tool call, or the result of one. */
export type AgentContent = z.output<typeof contentSchema>;

/** A message of a conversation. */
export type AgentMessage = z.output<typeof messageSchema>;

export type AgentUsage = z.output<typeof usageSchema>;

/** The outcome of a message. Each message has exactly one. */
export type MessageOutcome = z.output<typeof outcomeSchema>;

/** Why a message has no answer. */
export type MessageFailure = z.output<typeof failureSchema>;

/** `session.json`: the conversation of an agent. */
export type AgentSession = z.output<typeof sessionSchema>;

export const noUsage: AgentUsage = { input_tokens: 0, output_tokens: 0, model_calls: 0 };

/** The session of an agent that has no messages. */
export const newSession = (agentId: string, now: number): AgentSession => ({
  version: 1,
  agentId,
  createdAt: new Date(now).toISOString(),
  updatedAt: new Date(now).toISOString(),
  model: null,
  messages: [],
  usage: noUsage,
  lastMessageId: null,
  lastOutcome: null,
  snapshot: null,
});
