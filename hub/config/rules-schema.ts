import { z } from 'zod';
import { text } from './server-schema.ts';

/** Valid client names, case-insensitive. */
export const clientNamePattern = /^[a-z0-9](?:[\w .@/+-]{0,62}[\w.@/+-])?$/i;
export const clientNameRule =
  'the name of a client has 1 to 64 letters, digits, spaces and "_.@/+-", and starts with a letter or digit';

const maxModels = 16;
/** Maximum number of texts of one call that are improved. */
const maxArguments = 16;
const maxNames = 1000;
const maxSeconds = 600;
/** 30 days. */
const maxTtlSeconds = 2_592_000;

const clientName = z.string().regex(clientNamePattern, clientNameRule);
const model = z
  .string()
  .regex(/^\w[\w.:/-]{0,199}$/, 'write the name of a model such as "llama3.2:3b"');
const seconds = z.number().min(0.1).max(maxSeconds);

const options = z.strictObject({
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe('Sampling temperature. 0 gives the same result each time. Default: 0.2.'),
  top_p: z.number().min(0).max(1).optional().describe("Default: the model's default."),
  seed: z.int().optional().describe("Default: the model's default."),
  num_ctx: z
    .int()
    .min(256)
    .max(1_048_576)
    .optional()
    .describe(
      'Context size in tokens, for prompt and result together. A prompt that does not fit is returned unchanged. Default: 8192.',
    ),
  num_predict: z
    .int()
    .min(1)
    .max(131_072)
    .optional()
    .describe(
      'Maximum number of tokens in a result. A result that is cut off there is not used. Default: 2048.',
    ),
  think: z
    .boolean()
    .optional()
    .describe(
      'true: a reasoning model thinks before it answers, which takes longer. Default: false.',
    ),
});

const timeouts = z.strictObject({
  total: z
    .number()
    .min(1)
    .max(maxSeconds)
    .optional()
    .describe(
      'Total time limit in seconds. After it, the prompt is returned unchanged. Default: 30.',
    ),
  first_token: seconds
    .optional()
    .describe('Time limit in seconds for the first token of a loaded model. Default: 10.'),
  load: seconds
    .optional()
    .describe(
      'Time limit in seconds for the first token of a model that Ollama has to load. Default: 20.',
    ),
});

const cache = z.strictObject({
  mode: z
    .enum(['off', 'shadow', 'verified', 'threshold'])
    .optional()
    .describe(
      'When a prompt gets the cached result of another prompt with the same meaning. "verified": if the same meaning is certain or was checked by the judge model. "threshold": if the similarity is high enough, which is sometimes wrong. "shadow": never, but matches are counted. Equal prompts share a result in all of these modes. "off": only if the words are the same apart from politeness and typography; nothing is embedded. Default: "verified".',
    ),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'Minimum similarity of two prompts, from 0 to 1. Default: CACHE_SIMILARITY_THRESHOLD.',
    ),
  ttl: z
    .int()
    .min(1)
    .max(maxTtlSeconds)
    .optional()
    .describe('Seconds for which a result stays in the cache. Default: 86400 (one day).'),
});

const argumentsOf = z.record(text, z.array(text.min(1)).max(maxArguments));

const rule = z.strictObject({
  enabled: z.boolean().optional().describe('false: prompts are returned unchanged. Default: true.'),
  model: model.optional().describe('Ollama model. Default: OLLAMA_MODEL.'),
  system_prompt: text
    .min(1)
    .optional()
    .describe(
      'System prompt of the model. Default: instructions to make the prompt clear and structured.',
    ),
  options: options.optional().describe('Model options.'),
  timeouts: timeouts.optional().describe('Time limits.'),
  cache: cache.optional().describe('Cache of earlier results.'),
  max_growth: z
    .number()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'A result is not used if it is longer than this many times its prompt and longer than 4000 characters. Default: 8.',
    ),
  tools: argumentsOf
    .optional()
    .describe(
      'Tools by their names on /mcp, each with the arguments that are prompts: {"server_tool": ["argument"]}. They are improved before the call is sent to its server. If that fails or exceeds "timeouts", they are sent unchanged. Default: none.',
    ),
  prompts: z
    .array(text.min(1))
    .max(maxNames)
    .optional()
    .describe(
      'Prompts of servers by their names on /mcp: ["server_prompt"]. Their user messages are improved before they are sent to the client. Default: none.',
    ),
});

/** Schema of the rules file. `configs/enhancement-rules.schema.json` is generated from it. */
export const rulesSchema = z
  .strictObject({
    $schema: z.string().optional().describe('Path or URL of this schema, for editors.'),
    default: rule.optional().describe('Rule for all clients that "clients" does not name.'),
    clients: z
      .record(clientName, rule)
      .optional()
      .describe(
        'Rules by client name, which clients send as X-Client-Name. Case does not matter. Keys that a rule leaves out have the values of "default".',
      ),
    fallback_chain: z
      .array(model.nullable())
      .max(maxModels)
      .optional()
      .describe(
        'Models to try in order if the model of the rule returns no result. null ends the chain. If no model returns a result, the prompt is returned unchanged.',
      ),
    embedding_model: model
      .optional()
      .describe(
        'Model that computes the similarity of prompts. After a change, prompts that were embedded with another model are not found. Default: "nomic-embed-text".',
      ),
    judge_model: model
      .nullable()
      .optional()
      .describe(
        'Model that decides whether two prompts mean the same if that is not certain. null: no model. Default: null.',
      ),
  })
  .meta({
    title: 'AgentHub: rules for prompt improvement',
    description: 'How a local model improves the prompts of each client.',
  });

/** A rule as written in a file. */
export type WrittenRule = z.output<typeof rule>;

/** The known keys of the object at a path, for "did you mean" hints. */
export function knownRuleKeys(path: readonly (string | number)[]): readonly string[] {
  if (path.length === 0) return Object.keys(rulesSchema.shape);
  const part = path[0] === 'clients' ? path[2] : path[1];
  if (part === 'options') return Object.keys(options.shape);
  if (part === 'timeouts') return Object.keys(timeouts.shape);
  if (part === 'cache') return Object.keys(cache.shape);
  return Object.keys(rule.shape);
}

/** JSON Schema of the rules file, the content of `configs/enhancement-rules.schema.json`. */
export function rulesSchemaJson(): string {
  const schema = z.toJSONSchema(rulesSchema, { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
