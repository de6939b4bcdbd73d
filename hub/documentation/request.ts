import { z } from 'zod';
import { HubError, shortened, shown, typeInWords } from '#core';
import { requireProjectName } from './notes/note-names.ts';

export const documentationRequest = z.strictObject({
  repo_path: z
    .string()
    .min(1)
    .describe('Absolute path of the top folder of a git repository. HEAD is documented.'),
  project_name: z
    .string()
    .describe(
      'Name of the project: the folder in the vault, and the beginning of the names of its notes.',
    ),
  vault: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Absolute path of an Obsidian vault, or "obsidian" for the one that the Local REST API plugin serves. Default: "documentation.vault" of the config, or that plugin.',
    ),
  dry_run: z
    .boolean()
    .default(false)
    .describe('Lists what would be written, with an estimate of tokens, and writes nothing.'),
  force: z.boolean().default(false).describe('Writes into a folder that has no .obsidian.'),
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A model of Ollama, "provider/model", or "none". Default: the model of OLLAMA_MODEL, if it answers. The code is sent to the model.',
    ),
});

/** A request to document a repository, as clients send it. */
export type DocumentationRequest = z.output<typeof documentationRequest>;

/** Parses the body of a request. Throws HUB_REQUEST_INVALID, whose message has the field, its value and the remedy. */
export function parseDocumentationRequest(body: unknown): DocumentationRequest {
  const parsed = documentationRequest.safeParse(body, { reportInput: true });
  if (!parsed.success)
    throw new HubError('HUB_REQUEST_INVALID', parsed.error.issues.map(describeIssue).join('; '));
  requireProjectName(parsed.data.project_name);
  return parsed.data;
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const field = issue.path.join('.') || 'body';
  if (issue.code === 'unrecognized_keys')
    return `${shortened(issue.keys.join(', '))}: is not a member; members are ${Object.keys(documentationRequest.shape).join(', ')}`;
  if (issue.code === 'too_small') return `${field}: must not be empty`;
  const remedy = issue.code === 'invalid_type' ? remedyFor(issue) : issue.message;
  const problem = issue.input === undefined ? 'is missing' : `${shown(issue.input)} is not allowed`;
  return `${field}: ${problem}: ${remedy}`;
}

const remedyFor = ({ expected }: z.core.$ZodIssueInvalidType): string =>
  expected === 'object'
    ? 'write an object with "repo_path" and "project_name"'
    : `write ${typeInWords(expected)}`;
