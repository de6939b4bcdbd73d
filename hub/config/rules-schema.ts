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
    .describe('0 is the same each time. Default: 0.2.'),
  top_p: z.number().min(0).max(1).optional().describe("Default: the model's own."),
  seed: z.int().optional().describe("Default: the model's own."),
  num_ctx: z
    .int()
    .min(256)
    .max(1_048_576)
    .optional()
    .describe(
      'Tokens that prompt and result have room in; a prompt that does not fit is given back unchanged. Default: 8192.',
    ),
  num_predict: z
    .int()
    .min(1)
    .max(131_072)
    .optional()
    .describe('Most tokens of a result; one that is cut there is not used. Default: 2048.'),
  think: z
    .boolean()
    .optional()
    .describe('Whether a model that can think first does. It takes longer. Default: false.'),
});

const timeouts = z.strictObject({
  total: z
    .number()
    .min(1)
    .max(maxSeconds)
    .optional()
    .describe('Seconds until the prompt is given back in any case. Default: 30.'),
  first_token: seconds
    .optional()
    .describe('Seconds until a model that is loaded says its first word. Default: 10.'),
  load: seconds
    .optional()
    .describe('The same for a model that Ollama has to load first. Default: 20.'),
});

const cache = z.strictObject({
  mode: z
    .enum(['off', 'shadow', 'verified', 'threshold'])
    .optional()
    .describe(
      'When the result of a prompt that only means the same is given. "verified": when that is certain or was checked. "threshold": when it is alike enough, which is wrong now and then. "shadow": never, only counted. Equal prompts share a result in each of them. Default: "verified".',
    ),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('How alike two prompts must be. Default: CACHE_SIMILARITY_THRESHOLD.'),
  ttl: z
    .int()
    .min(1)
    .max(maxTtlSeconds)
    .optional()
    .describe('Seconds for which a result is kept. Default: 86400, which is a day.'),
});

const argumentsOf = z.record(text, z.array(text.min(1)).max(maxArguments));

const rule = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe('false: prompts are given back as they are. Default: true.'),
  model: model.optional().describe('The model of Ollama. Default: OLLAMA_MODEL.'),
  system_prompt: text
    .min(1)
    .optional()
    .describe('What the model is told to do with a prompt. Default: makes it clear and ordered.'),
  options: options.optional().describe('How the model is run.'),
  timeouts: timeouts.optional().describe('How long a prompt may take.'),
  cache: cache.optional().describe('What is remembered of earlier prompts.'),
  max_growth: z
    .number()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'A result that is as many times longer than its prompt, and longer than 4000 characters, is not used. Default: 8.',
    ),
  tools: argumentsOf
    .optional()
    .describe(
      'Tools by their names on /mcp, each with those of its arguments that are prompts: {"server_tool": ["argument"]}. They are improved before the call goes to its server, and go on as they came where that fails or "timeouts" are over. Default: none.',
    ),
  prompts: z
    .array(text.min(1))
    .max(maxNames)
    .optional()
    .describe(
      'Prompts of servers by their names on /mcp: ["server_prompt"]. The texts that they have for the user are improved before they go to the client. Default: none.',
    ),
});

/** Schema of the rules file. `configs/enhancement-rules.schema.json` is generated from it. */
export const rulesSchema = z
  .strictObject({
    $schema: z.string().optional().describe('Where this schema is, for editors.'),
    default: rule.optional().describe('For every client that "clients" does not name.'),
    clients: z
      .record(clientName, rule)
      .optional()
      .describe(
        'Rules by what clients send as X-Client-Name, in small letters or large. What one leaves out is as in "default".',
      ),
    fallback_chain: z
      .array(model.nullable())
      .max(maxModels)
      .optional()
      .describe(
        'Models that are tried in order when that of the rule gives nothing. null ends it: the prompt is given back unchanged, as it is at the end in any case.',
      ),
    embedding_model: model
      .optional()
      .describe(
        'The model that tells how alike prompts are; prompts that another one was used for are not found. Default: "nomic-embed-text".',
      ),
    judge_model: model
      .nullable()
      .optional()
      .describe(
        'The model that is asked whether two prompts mean the same, where that is not certain; null asks none. Default: null.',
      ),
  })
  .meta({
    title: 'AgentHub: rules for better prompts',
    description: 'By which rule a prompt is improved with a local model, for each client.',
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
