import { readFileSync } from 'node:fs';
import { type TaskContract, pathRulesOf } from './contract.ts';
import { describeGate } from './describe-gate.ts';
import type { TaskState } from './task-state.ts';

type TemplateName = 'implementer' | 'repair' | 'reviewer' | 'security' | 'syntax';

const templates = new Map<TemplateName, string>();

/** Reads a template of `prompts/`, which the build copies next to the code. Cached after the first use. */
function templateOf(name: TemplateName): string {
  const known = templates.get(name);
  if (known !== undefined) return known;
  const text = readFileSync(new URL(`./prompts/${name}.txt`, import.meta.url), 'utf8');
  templates.set(name, text);
  return text;
}

/**
 * Replaces each `{{name}}` in a template by its value, unchanged: the model must be able to copy lines of files.
 * Placeholders within a value are not replaced. An empty value leaves no blank lines.
 */
function fill(name: TemplateName, values: Readonly<Record<string, string>>): string {
  const placeholder = /\{\{(\w+)\}\}/g;
  const withoutAbsent = templateOf(name)
    .replaceAll(placeholder, (whole, key: string) => (values[key] === '' ? '' : whole))
    .replaceAll(/\n{3,}/g, '\n\n');
  return withoutAbsent.replaceAll(placeholder, (whole, key: string) => values[key] ?? whole);
}

export type PromptSourceFile = { readonly path: string; readonly text: string | undefined };

/** Returns the prompt of the implementer, with the judge's notes and the problem of the last attempt. */
export function implementerPrompt(task: TaskState, sources: readonly PromptSourceFile[]): string {
  const { contract } = task;
  const rules = pathRulesOf(contract);
  return fill('implementer', {
    ...aboutTask(contract),
    target_file: contract.specification.target_file,
    allowed_paths: rules.allowed.length > 0 ? rules.allowed.map(code).join(', ') : 'every file',
    forbidden_paths: ['.git', ...rules.forbidden].map(code).join(', '),
    sources: sources.map(sourceText).join('\n\n'),
    feedback: feedbackOf(task),
  });
}

export function reviewerPrompt(task: TaskState, diff: string): string {
  return fill('reviewer', {
    ...aboutTask(task.contract),
    security: templateOf('security').trim(),
    syntax: templateOf('syntax').trim(),
    gate: task.gate ? describeGate(task.gate) : 'None.',
    diff,
  });
}

/** Returns a prompt that asks once more for an answer that could not be parsed. */
export const repairPrompt = (
  prompt: string,
  { answer, problem }: { readonly answer: string; readonly problem: string },
): string => fill('repair', { prompt, answer: answer.slice(0, maxAnswer), problem });

const maxAnswer = 20_000;
const code = (text: string) => `\`${text}\``;
const bullets = (lines: readonly string[]) =>
  lines.length > 0 ? lines.map(line => `- ${line}`).join('\n') : '- None.';

const aboutTask = ({ task_id, specification }: TaskContract) => ({
  task_id,
  goal: specification.goal ?? '',
  requirements: bullets(specification.requirements),
  constraints: bullets(specification.constraints),
});

const sourceText = ({ path, text }: PromptSourceFile) =>
  text === undefined ? `\`${path}\` does not exist yet.` : `\`${path}\`:\n\n~~~~\n${text}\n~~~~`;

function feedbackOf({ failures, judgeNotes, verdict }: TaskState): string {
  const last = failures.findLast(({ phase }) => phase === 'implementer');
  const notes =
    verdict === 'fail'
      ? `## What the judge wants changed\n\n${judgeNotes ?? 'The judge did not accept the work. Check every requirement again.'}`
      : '';
  const failure = last
    ? `## What went wrong at the last attempt\n\n${last.cause}: ${last.detail}${last.gate ? `\n\n${describeGate(last.gate)}` : ''}`
    : '';
  return [notes, failure].filter(text => text !== '').join('\n\n');
}
