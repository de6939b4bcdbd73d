import { z } from 'zod';
import { type Code, HubError, type JsonObject, isObject } from '#core';

const count = z.int().min(0);

/** Members of the `structuredContent` of `ollama_run` that tasks use. */
export const runContent = z.object({
  text: z.string(),
  model: z.string(),
  tokens: z.object({ prompt: count, completion: count }),
  durations: z.object({ total_ms: z.number().min(0) }).optional(),
  done_reason: z.enum(['stop', 'length']),
  thinking_only: z.boolean().default(false),
});

/** Members of the `structuredContent` of `ollama_list_models` that tasks use. */
export const listContent = z.object({
  models: z.array(z.object({ name: z.string() })),
  unavailable: z.array(z.object({ source: z.string(), message: z.string() })).default([]),
});

const toolError = z.object({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean().exactOptional(),
  retryAfterMs: z.number().exactOptional(),
});

const codes: { readonly [code: string]: Code } = {
  unavailable: 'HUB_OLLAMA_UNAVAILABLE',
  overloaded: 'HUB_OLLAMA_UNAVAILABLE',
  model_missing: 'HUB_MODEL_UNKNOWN',
  model_not_allowed: 'HUB_MODEL_UNKNOWN',
  timeout: 'HUB_MODEL_CALL_TIMEOUT',
  context_full: 'HUB_CONTEXT_FULL',
};

/** Names of the called tool and its server, for error messages. */
type CalledTool = { readonly server: string; readonly tool: string };

/** Parses the content of a tool result. Throws the error of a failed call, or HUB_MODEL_CALL_PROTOCOL. */
export function readContent<T extends z.ZodType>(
  result: JsonObject,
  schema: T,
  called: CalledTool,
): z.output<T> {
  const { isError, structuredContent } = result;
  if (isError === true) throw toolErrorOf(result, called);
  const read = schema.safeParse(structuredContent);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const { server, tool } = called;
  throw new HubError(
    'HUB_MODEL_CALL_PROTOCOL',
    `${tool} of ${server} returned a result of another form (structuredContent.${issue?.path.join('.')}: ${issue?.message}). Check "tasks.server" and the names of its tools in the config`,
    { data: { server } },
  );
}

/** Returns the error of a failed tool call. `data.kind` is the code of ollama-mcp; other servers give none. */
function toolErrorOf({ content, _meta: meta }: JsonObject, { server, tool }: CalledTool): HubError {
  const told = toolError.safeParse(isObject(meta) ? meta['agenthub/error'] : undefined).data;
  if (told) {
    const { code, message, ...more } = told;
    return new HubError(codes[code] ?? 'HUB_MODEL_FAILED', message, {
      data: { server, kind: code, ...more },
    });
  }
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text = isObject(first) && typeof first['text'] === 'string' ? first['text'] : 'no reason';
  return new HubError('HUB_MODEL_FAILED', `${tool} of ${server} failed: ${text}`, {
    data: { server },
  });
}
