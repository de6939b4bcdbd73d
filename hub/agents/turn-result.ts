import { z } from 'zod';
import { HubError, type JsonObject } from '#core';
import {
  type MessageOutcome,
  messageSchema,
  outcomeSchema,
  usageSchema,
} from './session-schema.ts';

const resultSchema = outcomeSchema.extend({
  messages: z.array(messageSchema),
  usage: usageSchema,
  model: z.string().nullish(),
  snapshot: z.unknown(),
});

/** The result of a turn, as the container of an agent sends it. */
export type TurnResult = z.output<typeof resultSchema>;

/** Parses the result of `chat`. Throws HUB_SERVER_PROTOCOL for another format, which the image of the hub never sends. */
export function readTurnResult(id: string, content: JsonObject): TurnResult {
  const { data, error } = resultSchema.safeParse(content);
  if (data) return data;
  const [issue] = error.issues;
  throw new HubError(
    'HUB_SERVER_PROTOCOL',
    `the container of ${id} answered with a result that the hub cannot read: ${issue?.path.join('.')}: ${issue?.message}`,
  );
}

export const outcomeOf = ({ status, error }: TurnResult): MessageOutcome =>
  error ? { status, error } : { status };

/** Returns the outcome of a message that has no result. */
export const failureOf = (error: unknown): MessageOutcome => ({
  status: 'failed',
  error:
    error instanceof HubError
      ? { code: error.code, message: error.message }
      : { code: 'HUB_INTERNAL', message: error instanceof Error ? error.message : String(error) },
});
