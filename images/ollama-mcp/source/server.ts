import { McpServer, type CallToolResult, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isSameModel } from '../../../hub/models/index.ts';
import { createBatches } from './batched.ts';
import { createHubModels, isHub } from './hub-models.ts';
import { ModelError, type ModelSource, isRetryable } from './models-types.ts';
import { listOutput, runOutput } from './results.ts';
import type { Settings } from './settings.ts';

const maxPromptLength = 1_000_000;
const defaultSeconds = 600;
const maxSeconds = 86_400;

const number = z.number();
const options = z
  .strictObject({
    temperature: number.min(0).optional(),
    top_p: number.optional(),
    top_k: number.optional(),
    min_p: number.optional(),
    seed: z.int().optional(),
    num_predict: z.int().min(1).optional().describe('Maximum length of the answer in tokens.'),
    repeat_penalty: number.optional(),
    presence_penalty: number.optional(),
    frequency_penalty: number.optional(),
    stop: z.array(z.string()).max(16).optional().describe('Texts that end the answer.'),
  })
  .describe('Options of the model, by their names at Ollama.');

const runInput = z.object({
  model: z.string().min(1).max(200).describe('Name of a model, as ollama_list_models lists it.'),
  prompt: z.string().min(1).max(maxPromptLength),
  system: z.string().max(maxPromptLength).optional().describe('System prompt.'),
  timeout: number
    .min(0.001)
    .max(maxSeconds)
    .default(defaultSeconds)
    .describe('Maximum duration in seconds, with the wait for other calls of the model.'),
  format: z
    .union([z.literal('json'), z.looseObject({})])
    .optional()
    .describe('"json", or a JSON schema of the answer.'),
  options: options.optional(),
});

type ServerNeeds = {
  readonly settings: Settings;
  /** Returns the models of the settings. Not called if the client is a hub. */
  readonly own: () => ModelSource;
};

/** Creates the MCP server for one connection. */
export function createServer({ settings, own }: ServerNeeds): McpServer {
  const mcp = new McpServer(
    { name: 'ollama-mcp', title: 'Models of Ollama', version: '1.0.0' },
    {
      capabilities: { tools: {} },
      instructions:
        'ollama_run runs a prompt on a local model, or one of an OpenAI-compatible endpoint. ollama_list_models lists them.',
    },
  );
  const source = () => (isHub(mcp.server) ? createHubModels(mcp.server) : own());
  const isAllowed = (model: string) =>
    settings.allowed?.some(name => isSameModel(name, model)) !== false;

  mcp.registerTool(
    'ollama_run',
    {
      title: 'Run a prompt',
      description:
        'Runs a prompt on a model and returns its answer, without thoughts. Progress notifications have the text as it comes.',
      inputSchema: runInput,
      outputSchema: runOutput,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ timeout, ...request }, context) =>
      await answering(async () => {
        const { model } = request;
        if (!isAllowed(model))
          throw new ModelError(
            'model_not_allowed',
            `${model} is not among the models of OLLAMA_MCP_MODELS: ${settings.allowed?.join(', ')}`,
          );
        using batches = progressTo(context);
        const { mcpReq } = context;
        const timeoutMs = Math.round(Math.min(timeout, settings.maxSeconds) * 1_000);
        const result = await source().run(
          { ...request, timeoutMs, call: mcpReq.id },
          batches && (piece => batches.add(piece)),
          mcpReq.signal,
        );
        const { text, tokens, durations, doneReason, thinkingOnly } = result;
        const { totalMs, loadMs, promptMs } = durations;
        return {
          content: [{ type: 'text', text }],
          structuredContent: {
            text,
            model: result.model,
            tokens,
            durations: {
              total_ms: totalMs,
              ...(loadMs !== undefined && { load_ms: loadMs }),
              ...(promptMs !== undefined && { prompt_ms: promptMs }),
            },
            done_reason: doneReason,
            thinking_only: thinkingOnly,
          },
        };
      }),
  );

  mcp.registerTool(
    'ollama_list_models',
    {
      title: 'List models',
      description: 'Lists the models that ollama_run can use, and what cannot be listed now.',
      inputSchema: z.object({}),
      outputSchema: listOutput,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async (_args, { mcpReq }) =>
      await answering(async () => {
        const { models, unavailable } = await source().list(mcpReq.signal);
        const listed = models
          .filter(({ name }) => isAllowed(name))
          .map(({ name, source: from, sizeBytes, loaded, capabilities, contextTokens }) => ({
            name,
            source: from,
            ...(sizeBytes !== undefined && { size_bytes: sizeBytes }),
            ...(loaded !== undefined && { loaded }),
            ...(capabilities && { capabilities: [...capabilities] }),
            ...(contextTokens !== undefined && { context_tokens: contextTokens }),
          }));
        const lines = [
          ...listed.map(({ name }) => name),
          ...unavailable.map(one => `${one.source}: ${one.message}`),
        ];
        return {
          content: [{ type: 'text', text: lines.join('\n') || 'no models' }],
          structuredContent: { models: listed, unavailable: [...unavailable] },
        };
      }),
  );
  return mcp;
}

/** Sends pieces of text as progress notifications. Undefined if the request has no progress token. */
function progressTo({ mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return createBatches(message => {
    const params = { progressToken, progress: ++progress, message };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined); // The client has disconnected.
  });
}

/**
 * Converts a ModelError to a tool result, so that models can read and act on it. `_meta` has the error for programs.
 */
async function answering(work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const { code, message, retryAfterMs } = error;
    return {
      isError: true,
      content: [{ type: 'text', text: `${code}: ${message}` }],
      _meta: {
        'agenthub/error': {
          code,
          message,
          retryable: isRetryable(error),
          ...(retryAfterMs !== undefined && { retryAfterMs }),
        },
      },
    };
  }
}
