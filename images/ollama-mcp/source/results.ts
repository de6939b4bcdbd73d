import { z } from 'zod';

const count = z.int().min(0);

/** Result of running a prompt, as the hub's code returns it. */
export const runResult = z.object({
  text: z.string(),
  model: z.string(),
  tokens: z.object({ prompt: count, completion: count }),
  durations: z.object({
    totalMs: z.number(),
    loadMs: z.number().optional(),
    promptMs: z.number().optional(),
  }),
  doneReason: z.enum(['stop', 'length']),
  thinkingOnly: z.boolean(),
});

export type RunResult = z.output<typeof runResult>;

/** List of models, as the hub's code returns it. */
export const modelList = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      source: z.string(),
      sizeBytes: z.number().optional(),
      loaded: z.boolean().optional(),
      capabilities: z.array(z.string()).optional(),
      contextTokens: z.number().optional(),
    }),
  ),
  unavailable: z.array(z.object({ source: z.string(), message: z.string() })),
});
export type ModelList = z.output<typeof modelList>;

/** Schema of `structuredContent` of the tool `ollama_run`. */
export const runOutput = z.object({
  text: z.string().describe('The answer without thoughts. Empty if there were only thoughts.'),
  model: z.string(),
  tokens: z.object({ prompt: count, completion: count }),
  durations: z
    .object({
      total_ms: z.number().describe('With the wait for other calls of the model.'),
      load_ms: z.number().optional().describe('Loading the model into memory.'),
      prompt_ms: z.number().optional().describe('Reading the prompt.'),
    })
    .describe('In milliseconds.'),
  done_reason: z
    .enum(['stop', 'length'])
    .describe('"length": the answer is cut off at the limit of its tokens.'),
  thinking_only: z.boolean().describe('The model thought, and gave no answer.'),
});

/** Schema of `structuredContent` of the tool `ollama_list_models`. */
export const listOutput = z.object({
  models: z.array(
    z.object({
      name: z.string(),
      source: z.string().describe('"ollama", "openai", or a provider of the hub.'),
      size_bytes: z.number().optional(),
      loaded: z.boolean().optional(),
      capabilities: z.array(z.string()).optional(),
      context_tokens: z.number().optional(),
    }),
  ),
  unavailable: z
    .array(z.object({ source: z.string(), message: z.string() }))
    .describe('Sources whose models cannot be listed now.'),
});
