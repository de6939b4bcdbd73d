import type { ListKind } from '#servers';

/** The tool and the prompt by which clients have a prompt improved. */
export const ownToolName = 'agenthub_enhance_prompt';
export const ownPromptName = 'enhance';

/** Names on the endpoint of all servers that no server gets, whether the hub offers something by them now or not. */
export const ownNames: Readonly<Record<Extract<ListKind, 'tool' | 'prompt'>, readonly string[]>> = {
  tool: [ownToolName],
  prompt: [ownPromptName],
};

const title = 'Improve a prompt';

/** What the hub lists itself, as JSON text. */
export const ownTools: readonly string[] = [
  JSON.stringify({
    name: ownToolName,
    title,
    description:
      'Rewrites a prompt so that it is clear and well structured, with a local model and by the rules that this hub has for the client. The intent and every detail are kept. Where that is not possible the prompt comes back as it is, with the reason.',
    inputSchema: {
      type: 'object',
      properties: { prompt: { type: 'string', description: 'The prompt to be improved.' } },
      required: ['prompt'],
      additionalProperties: false,
    },
    outputSchema: {
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
    },
    annotations: { title, readOnlyHint: true, openWorldHint: false },
  }),
];

/** The same as a prompt, which people choose. */
export const ownPrompts: readonly string[] = [
  JSON.stringify({
    name: ownPromptName,
    title,
    description: 'Gives a prompt back clear and well structured.',
    arguments: [{ name: 'prompt', description: 'The prompt to be improved.', required: true }],
  }),
];
