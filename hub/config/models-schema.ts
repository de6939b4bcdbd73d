import { z } from 'zod';
import { describeKeys, text } from './server-schema.ts';

const seconds = 1_000;

export const modelsSchema = describeKeys(
  z.strictObject({
    default: text.min(1).exactOptional(),
    context: z.int().min(2_048).max(1_048_576).default(8_192),
    timeout_seconds: z.int().min(10).max(3_600).default(600),
  }),
  {
    default:
      'Model of agents and of servers with "sampling": "hub" that name none: a model of Ollama. Default: OLLAMA_MODEL, if OLLAMA_HOST is set.',
    context:
      'Context of models of Ollama in conversations, in tokens. Prompts have at least the same, so that Ollama does not load a model again. Default: 8192.',
    timeout_seconds:
      'Maximum duration of one call of a model in seconds, including its wait for other calls. Default: 600.',
  },
);

/** `models` of the config. */
export type ModelsConfig = {
  readonly defaultModel: string | undefined;
  readonly contextTokens: number;
  readonly timeoutMs: number;
};

/** Converts the written options. Absent: the defaults. */
export function readModels(written: z.output<typeof modelsSchema> | undefined): ModelsConfig {
  const {
    default: defaultModel,
    context: contextTokens,
    timeout_seconds: timeout,
  } = written ?? modelsSchema.parse({});
  return { defaultModel, contextTokens, timeoutMs: timeout * seconds };
}
