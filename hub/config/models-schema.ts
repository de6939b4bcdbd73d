import { z } from 'zod';
import { describeKeys, matching, text } from './schema-parts.ts';

const providerName = matching(
  /^[a-z0-9][a-z0-9_-]{0,62}$/i,
  'write letters, digits, "_" and "-", at most 63',
);

// Creates a schema for each key, because a schema has only one description.
const price = () => z.number().min(0).max(1_000_000);
const modelPrice = describeKeys(z.strictObject({ prompt: price(), completion: price() }), {
  prompt: 'Price of a million tokens that the model reads.',
  completion: 'Price of a million tokens that the model writes.',
});

const providerSchema = describeKeys(
  z.strictObject({
    url: text.min(1),
    key: text.min(1).exactOptional(),
    context: z.int().min(2_048).max(10_000_000).exactOptional(),
    parallel: z.int().min(1).max(1_000).default(8),
    prices: z.record(text.min(1), modelPrice).exactOptional(),
  }),
  {
    url: 'Base URL of an OpenAI-compatible API, such as "https://api.example.com/v1".',
    key: 'API key, usually "${secret:NAME}". Absent: none is sent.',
    context:
      'Context of its models in tokens. Agents shorten a conversation before it is full. Default: unknown.',
    parallel: 'Maximum number of calls of each model at the same time. Default: 8.',
    prices:
      'Prices of its models by name, "*" for all others, in any currency: tasks show what they have cost. Default: 0.',
  },
);

export const modelsSchema = describeKeys(
  z.strictObject({
    default: text.min(1).exactOptional(),
    context: z.int().min(2_048).max(1_048_576).default(8_192),
    timeout_seconds: z.int().min(10).max(3_600).default(600),
    silence_seconds: z.int().min(10).max(3_600).default(120),
    providers: z.record(providerName, providerSchema).exactOptional(),
  }),
  {
    default:
      'Model of agents and of servers with "sampling": "hub" that name none: a model of Ollama, or "provider/model". Default: OLLAMA_MODEL, if OLLAMA_HOST is set.',
    context:
      'Context of models of Ollama in conversations, in tokens. Prompts have at least the same, so that Ollama does not load a model again. Default: 8192.',
    timeout_seconds:
      'Maximum duration of one call of a model in seconds, including its wait for other calls. Default: 600.',
    silence_seconds:
      'Maximum time in seconds without a token in conversations, also before the first one, while the model is loaded or reads the prompt. Models of Ollama get more for a long prompt. Default: 120.',
    providers:
      'OpenAI-compatible endpoints by name. A model "name/model" is called there; all others are models of Ollama.',
  },
);
