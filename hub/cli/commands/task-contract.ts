import { basename } from 'node:path';
import type { Options, Run } from '../command.ts';
import { textOf, textsOf, usageError } from '../values.ts';

/** Options of `agenthub task new`. */
export const contractOptions = {
  goal: { value: 'text', help: 'new: the goal.' },
  requirement: {
    value: 'text',
    multiple: true,
    help: 'new: what the result must do. Repeatable.',
  },
  target: { value: 'path', help: 'new: the file to write.' },
  source: {
    value: 'path',
    multiple: true,
    help: 'new: a file that the implementer reads. Repeatable.',
  },
  constraint: { value: 'text', multiple: true, help: 'new: what must not be done. Repeatable.' },
  allow: {
    value: 'pattern',
    multiple: true,
    help: 'new: files that may be changed besides the target. Repeatable.',
  },
  forbid: {
    value: 'pattern',
    multiple: true,
    help: 'new: files that must not be changed. Repeatable.',
  },
  accept: {
    value: 'command',
    multiple: true,
    help: 'new: a command that must succeed before the review. Repeatable.',
  },
  image: { value: 'image', help: 'new: the image with the tools of these commands.' },
  implementer: { value: 'model', help: 'new: the model that writes the code.' },
  reviewer: { value: 'model', help: 'new: another model, which reviews it.' },
} as const satisfies Options;

/** Builds the contract from the options. Asks for missing values; throws HUB_USAGE without a terminal. */
export async function contractOf(run: Run): Promise<object> {
  const { values } = run;
  const missing: string[] = [];

  /** Returns the value of an option, or the user's answer to a question. */
  async function need(option: string, question: string): Promise<string> {
    const given = textOf(values, option);
    if (given !== undefined) return given;
    const { ask } = run.needs;
    const answer = ask && !run.isJson ? (await ask(`${question}: `, run.signal)).trim() : '';
    if (answer === '') missing.push(`--${option}`);
    return answer;
  }

  const list = (option: string) => textsOf(values, option);
  const image = textOf(values, 'image');
  if (image !== undefined && list('accept').length === 0)
    throw usageError('task new: --image needs --accept, whose commands run in it');
  const target = await need('target', 'File to write');
  const requirements =
    list('requirement').length > 0
      ? list('requirement')
      : [await need('requirement', 'What it must do')];
  const implementer = await need('implementer', 'Model that writes the code');
  const reviewer = await need('reviewer', 'Another model, which reviews it');
  if (missing.length > 0)
    throw usageError(
      `task new: ${[...new Set(missing)].join(', ')} ${missing.length > 1 ? 'are' : 'is'} missing`,
    );
  const goal = textOf(values, 'goal');
  const allowed = list('allow');
  return {
    task_id: textOf(values, 'id') ?? idFrom(target),
    specification: {
      ...(goal !== undefined && { goal }),
      requirements,
      target_file: target,
      source_files: list('source'),
      constraints: list('constraint'),
      ...(allowed.length > 0 && { allowed_paths: [target, ...allowed] }),
      forbidden_paths: list('forbid'),
    },
    ...(list('accept').length > 0 && {
      acceptance: { commands: list('accept'), ...(image !== undefined && { image }) },
    }),
    roles: { implementer, local_reviewer: reviewer },
  };
}

/** Derives a task id from a file name: `sum` for `src/sum.mjs`. */
const idFrom = (target: string): string =>
  basename(target)
    .replace(/\..*$/, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 60) || 'task';
