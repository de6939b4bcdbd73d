import { z } from 'zod';
import type { SchemaKeys } from './problem.ts';
import { clientNamePattern, clientNameRule } from './rule-clients.ts';
import { describeKeys, jsonSchemaText, matching, secondsBetween, text } from './schema-parts.ts';

const maxModels = 16;
/** Maximum number of texts in one call that are improved. */
const maxArguments = 16;
const maxNames = 1000;
const maxSeconds = 600;
/** Maximum lifetime of a cached result, in seconds: 30 days. */
const maxTtlSeconds = 2_592_000;

const clientName = matching(clientNamePattern, clientNameRule);
const model = matching(/^\w[\w.:/-]{0,199}$/, 'write the name of a model such as "llama3.2:3b"');
const seconds = secondsBetween(0.1, maxSeconds);

const options = describeKeys(
  z.strictObject({
    temperature: z.number().min(0).max(2).exactOptional(),
    top_p: z.number().min(0).max(1).exactOptional(),
    seed: z.int().exactOptional(),
    num_ctx: z.int().min(256).max(1_048_576).exactOptional(),
    num_predict: z.int().min(1).max(131_072).exactOptional(),
    think: z.boolean().exactOptional(),
  }),
  {
    temperature: 'Sampling temperature. 0 gives the same result each time. Default: 0.2.',
    top_p: "Default: the model's default.",
    seed: "Default: the model's default.",
    num_ctx:
      'Context size in tokens, for prompt and result together. A prompt that does not fit is returned unchanged. Default: 8192.',
    num_predict:
      'Maximum number of tokens in a result. A result that is cut off there is not used. Default: 2048.',
    think: 'true: a reasoning model thinks before it answers, which takes longer. Default: false.',
  },
);

const timeouts = describeKeys(
  z
    .strictObject({ total: secondsBetween(1, maxSeconds), first_token: seconds, load: seconds })
    .partial(),
  {
    total: 'Total time limit in seconds. After it, the prompt is returned unchanged. Default: 30.',
    first_token:
      'Time limit in seconds for the first token of a loaded model, from its turn in the queue of the hub. Longer for long prompts. Default: 10.',
    load: 'Time limit in seconds for the first token of a model that Ollama has to load. Default: 20.',
  },
);

const cache = describeKeys(
  z
    .strictObject({
      mode: z.enum(['off', 'shadow', 'guarded', 'verified', 'threshold']),
      threshold: z.number().min(0).max(1),
      ttl: z.int().min(1).max(maxTtlSeconds),
    })
    .partial(),
  {
    mode: 'When a prompt gets the cached result of another prompt with the same meaning. "guarded": if the guards can explain every difference, and the similarity is above the threshold. "verified": if the words are the same apart from politeness and typography, or the judge model said so. "threshold": if the similarity is high enough and no guard objects, which is sometimes wrong. "shadow": never, but the matches of "guarded" are counted. "off": only if the words are the same apart from politeness and typography; nothing is embedded. Default: "guarded".',
    threshold:
      'Minimum similarity of two prompts, from 0 to 1. Default: CACHE_SIMILARITY_THRESHOLD. If that is not set: in the modes "guarded" and "shadow" a value that the hub finds for each embedding model, in the others 0.85.',
    ttl: 'Seconds for which a result stays in the cache. Default: 86400 (one day).',
  },
);

const rule = describeKeys(
  z
    .strictObject({
      enabled: z.boolean(),
      model,
      system_prompt: text.min(1),
      options,
      timeouts,
      cache,
      max_growth: z.number().min(1).max(1000),
      tools: z.record(text, z.array(text.min(1)).max(maxArguments)),
      prompts: z.array(text.min(1)).max(maxNames),
    })
    .partial(),
  {
    enabled: 'false: prompts are returned unchanged. Default: true.',
    model: 'Ollama model. Default: OLLAMA_MODEL.',
    system_prompt:
      'How to rewrite prompts. The hub adds that the model rewrites and never answers, and keeps the intent, the language and all details. Default: make it clear, specific and well structured.',
    options: 'Model options.',
    timeouts: 'Time limits.',
    cache: 'Cache of earlier results.',
    max_growth:
      'A result is not used if it is longer than this many times its prompt and longer than 4000 characters. Default: 8.',
    tools:
      'Tools by their names on /mcp, each with the arguments that are prompts: {"server_tool": ["argument"]}. They are improved before the call is sent to its server. If that fails or exceeds "timeouts", they are sent unchanged. Default: none.',
    prompts:
      'Prompts of servers by their names on /mcp: ["server_prompt"]. Their user messages are improved before they are sent to the client. Default: none.',
  },
);

export const rulesSchema = describeKeys(
  z
    .strictObject({
      $schema: z.string(),
      default: rule,
      clients: z.record(clientName, rule),
      fallback_chain: z.array(model.nullable()).max(maxModels),
      embedding_model: model,
      judge_model: model.nullable(),
    })
    .partial(),
  {
    $schema: 'Path or URL of this schema, for editors.',
    default: 'Rule for all clients that "clients" does not name.',
    clients:
      'Rules by client name, which clients send as X-Client-Name. Case does not matter. Keys that a rule leaves out have the values of "default".',
    fallback_chain:
      'Models to try in order if the model of the rule returns no result. null ends the chain. If no model returns a result, the prompt is returned unchanged.',
    embedding_model:
      'Model that computes the similarity of prompts. After a change, prompts that were embedded with another model are not found. Default: "nomic-embed-text".',
    judge_model:
      'Model that decides in the background whether two prompts mean the same if the guards cannot. Its answer is used for later prompts that differ in the same words. null: no model. Default: null.',
  },
).meta({
  title: 'AgentHub: rules for prompt improvement',
  description: 'How a local model improves the prompts of each client.',
});

export type WrittenRule = z.output<typeof rule>;

/** The keys of a rules file, for messages. */
export const ruleKeys: SchemaKeys = { keysAt: knownRuleKeys, command: 'agenthub schema --rules' };

/** Returns the known keys of the object at a path, for "did you mean" hints. */
function knownRuleKeys(path: readonly (string | number)[]): readonly string[] {
  if (path.length === 0) return Object.keys(rulesSchema.shape);
  const part = path[0] === 'clients' ? path[2] : path[1];
  if (part === 'options') return Object.keys(options.shape);
  if (part === 'timeouts') return Object.keys(timeouts.shape);
  if (part === 'cache') return Object.keys(cache.shape);
  return Object.keys(rule.shape);
}

/** JSON Schema of the rules file, the content of `configs/enhancement-rules.schema.json`. */
export const rulesSchemaJson = () => jsonSchemaText(rulesSchema);
