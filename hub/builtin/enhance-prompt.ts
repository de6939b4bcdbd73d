import { type ImprovedPrompt, type PromptSource, type PromptStep, reservedNames } from '#routing';
import { z } from 'zod';
import {
  type BuiltinContext,
  type BuiltinPrompt,
  type BuiltinTool,
  definePrompt,
  defineTool,
  readOnly,
} from './builtin-server.ts';

const title = 'Improve a prompt';
const described = 'The prompt to be improved.';

const args = z.strictObject({
  prompt: z
    .string()
    .refine(text => text.trim() !== '', 'must not be empty')
    .describe(described),
});

/** Creates the tool `enhance_prompt`, which improves prompts for models. */
export const createEnhanceTool = (source: PromptSource): BuiltinTool =>
  defineTool({
    name: 'enhance_prompt',
    publicName: reservedNames.tool[0],
    scope: 'call',
    title,
    description:
      'Rewrites a prompt so that it is clear and well structured, with a local model and by the rules that this hub has for the client. The intent and every detail are kept. Where that is not possible the prompt comes back as it is, with the reason.',
    args,
    outputSchema,
    annotations: readOnly,
    async handler({ prompt }, context) {
      const improved = await enhance(source, prompt, context);
      return { text: improved.prompt, structured: describe(improved) };
    },
  });

/** Creates the MCP prompt that improves prompts for people, who choose it in their client. */
export const createEnhancePrompt = (source: PromptSource): BuiltinPrompt =>
  definePrompt({
    name: reservedNames.prompt[0],
    publicName: reservedNames.prompt[0],
    title,
    description: 'Gives a prompt back clear and well structured.',
    args,
    arguments: [{ name: 'prompt', description: described, required: true }],
    async handler({ prompt }, context) {
      const improved = await enhance(source, prompt, context);
      const { enhanced, model, reason } = improved;
      return {
        description: enhanced ? `improved by ${model}` : `as it came: ${reason}`,
        text: improved.prompt,
      };
    },
  });

const enhance = (
  source: PromptSource,
  prompt: string,
  { client, signal, progress }: BuiltinContext,
): Promise<ImprovedPrompt> => source.enhance({ prompt, client }, signal, createSteps(progress));

/** Minimum number of characters between two progress notifications about a model's output. */
const stepLength = 200;

/** Returns a function that reports the steps of a model as progress. */
function createSteps(progress: (message: string) => void): (step: PromptStep) => void {
  let written = 0;
  let reported = 0;
  return ({ step, model, text = '', message }) => {
    written = step === 'text' ? written + text.length : 0;
    if (step === 'text' && written - reported < stepLength) return;
    reported = written;
    progress(
      step === 'text'
        ? `${model} has written ${written} characters`
        : step === 'failed'
          ? `${model} gave nothing: ${message}`
          : `${model} works on it`,
    );
  };
}

const outputSchema = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The better prompt, or the prompt as it came.' },
    enhanced: { type: 'boolean', description: 'Whether it is another than the one that came.' },
    source: {
      type: 'string',
      enum: ['model', 'l1', 'l2', 'fallback', 'unchanged', 'disabled'],
      description: 'Where it is from.',
    },
    client: { type: 'string', description: 'Whom it was made for.' },
    rule: { type: 'string', description: 'The client that the rule is for, or "default".' },
    model: { type: 'string', description: 'The model that wrote it.' },
    similarity: {
      type: 'number',
      description: 'How alike the prompts are, where it was made for another one.',
    },
    age_ms: { type: 'number', description: 'For how long it has been kept.' },
    reason: { type: 'string', description: 'Why it is unchanged, or why no cache was used.' },
    took_ms: { type: 'number' },
  },
  required: ['prompt', 'enhanced', 'source', 'client', 'rule', 'took_ms'],
};

function describe(improved: ImprovedPrompt) {
  const { ageMs, tookMs, prompt, enhanced, source, client, rule } = improved;
  const { model, similarity, reason } = improved;
  return {
    prompt,
    enhanced,
    source,
    client,
    rule,
    ...(model !== undefined && { model }),
    ...(similarity !== undefined && { similarity }),
    ...(ageMs !== undefined && { age_ms: ageMs }),
    ...(reason !== undefined && { reason }),
    took_ms: tookMs,
  };
}
