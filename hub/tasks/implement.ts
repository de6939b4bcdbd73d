import { type Clock, HubError } from '#core';
import { type ChangedFile, type PathRules, type Worktree, checkChanges } from '#repositories';
import { readAnswer } from './answer.ts';
import { type TaskContract, contractPath, pathRulesOf } from './contract.ts';
import { applyBlocks } from './edits.ts';
import type { PromptSourceFile } from './prompts.ts';
import type { TaskResult } from './task-events.ts';
import {
  type TaskPlace,
  baseOf,
  committedBefore,
  discardChanges,
  lastCommitOf,
  trailersOf,
  worktreeOf,
} from './task-place.ts';
import type { GateResult, TaskState } from './task-state.ts';

/** Maximum size of all files in a prompt together, in bytes. */
const maxSourceBytes = 256 * 1024;
const maxFileBytes = 2 ** 20;

/** Reads the files that the implementer's prompt contains, from the branch of the task. */
export async function readSources(
  task: TaskState,
  worktree: Worktree,
  signal: AbortSignal,
): Promise<readonly PromptSourceFile[]> {
  const { source_files: sources, target_file: target } = task.contract.specification;
  const filter = (await worktree.filters([target], signal)).get(target);
  if (filter !== undefined)
    throw new HubError(
      'HUB_CONTRACT_INVALID',
      `${contractPath}: specification.target_file: ${JSON.stringify(target)} ${filteredBy(filter)}: git would store it unfiltered. Name another file, or make this change yourself`,
    );
  const paths = [...new Set([target, ...sources])];
  const files = await worktree.readFiles(paths, { maxBytes: maxSourceBytes }, signal);
  return files.map(file => {
    const field = `${contractPath}: specification.${file.path === target ? 'target_file' : 'source_files'}: ${JSON.stringify(file.path)}`;
    if (file.kind === 'omitted' && file.bytes === 0)
      throw new HubError(
        'HUB_CONTRACT_INVALID',
        `${field} is a symbolic link, a folder or a submodule, which has no text of its own: name a file instead, or remove it`,
      );
    if (file.kind === 'binary')
      throw new HubError(
        'HUB_CONTRACT_INVALID',
        `${field} is not a text in UTF-8, so no model can read it. Convert it to UTF-8, or name another file`,
      );
    if (file.kind === 'omitted')
      throw new HubError(
        'HUB_CONTEXT_FULL',
        `${file.path} has ${file.bytes} bytes, and the files of a prompt together may have ${maxSourceBytes}. Name fewer or smaller source_files`,
      );
    return { path: file.path, text: file.kind === 'text' ? file.text : undefined };
  });
}

const filteredBy = (filter: string) =>
  `has the filter ${filter} in .gitattributes, which does not run here`;

/** Applies the answer in the worktree and checks the result. Resets the worktree unless all checks pass. */
export async function applyAnswer(
  task: TaskState,
  answer: string,
  place: TaskPlace,
  clock: Pick<Clock, 'monotonic'>,
  signal: AbortSignal,
): Promise<TaskResult> {
  const worktree = await worktreeOf(task, place, signal);
  const result =
    (await write(task, answer, worktree, signal)) ??
    (await checkWritten(task, answer, place, worktree, clock, signal));
  if (result.type !== 'checked') await discardChanges(task, worktree, signal);
  return result;
}

/** Commits the checkpoint of the implementer, unless a run that was killed has already committed it. */
export async function commitAnswer(
  task: TaskState,
  answer: string,
  place: TaskPlace,
  signal: AbortSignal,
): Promise<TaskResult> {
  const worktree = await worktreeOf(task, place, signal);
  let commit = await committedBefore(task, 'implementer', place, worktree, signal);
  if (commit === undefined) {
    // Writes the answer again: since the checks, a crash may have lost files, or a person may have changed them.
    const stalled = await write(task, answer, worktree, signal);
    if (stalled) return stalled;
    commit = await worktree.commit(
      {
        message: `Implement ${task.contract.task_id}\n\nAttempt ${task.attempt}, not reviewed yet.`,
        trailers: trailersOf(task, 'implementer'),
      },
      signal,
    );
  }
  const changes = await place.repository.changes({ from: baseOf(task), to: commit }, signal);
  return { type: 'committed', commit, files: changes.map(({ path }) => path) };
}

/** Writes an answer into a clean worktree. Returns a result only if that fails. */
async function write(
  task: TaskState,
  answer: string,
  worktree: Worktree,
  signal: AbortSignal,
): Promise<TaskResult | undefined> {
  const read = readAnswer(answer);
  if ('problem' in read) return { type: 'malformed', problem: read.problem };
  await discardChanges(task, worktree, signal);
  const paths = read.blocks.map(({ path }) => path);
  const rules = pathRulesOf(task.contract);
  // Forbidden files are not read either, as the message about a problem would show their content to the model.
  const faults = checkChanges(
    paths.map(path => ({ path, status: 'modified', mode: 'file' })),
    rules,
  );
  if (faults.length > 0) return forbidden(faults);
  const texts = new Map<string, string>();
  for (const file of await worktree.readFiles(paths, { fileBytes: maxFileBytes }, signal))
    if (file.kind === 'text') texts.set(file.path, file.text);
  const applied = applyBlocks(read.blocks, texts);
  if ('problem' in applied) return { type: 'malformed', problem: applied.problem };
  try {
    await worktree.write(applied.files, rules, signal);
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_PATH_FORBIDDEN') throw error;
    return { type: 'stalled', cause: 'forbidden_path', detail: error.message };
  }
  return undefined;
}

/** Checks the written files. An answer that changes nothing counts as stalled. */
async function checkWritten(
  task: TaskState,
  answer: string,
  place: TaskPlace,
  worktree: Worktree,
  clock: Pick<Clock, 'monotonic'>,
  signal: AbortSignal,
): Promise<TaskResult> {
  const from = lastCommitOf(task);
  const changes = await worktree.changes(from, signal);
  if (changes.length === 0)
    return {
      type: 'stalled',
      cause: 'no_change',
      detail: 'the answer leaves every file as it was. Change what the requirements ask for',
    };
  requireOwnChanges(task, answer, changes);
  const base = baseOf(task);
  const whole = from === base ? changes : await worktree.changes(base, signal);
  return await runGate(task, place, worktree, whole, clock, signal);
}

/**
 * Throws HUB_TASK_STATE if a file that the task must not change differs from its commit, but not by the answer: no other
 * answer would mend it.
 */
function requireOwnChanges(
  { contract }: TaskState,
  answer: string,
  changes: readonly ChangedFile[],
): void {
  const read = readAnswer(answer);
  const own = new Set('blocks' in read ? read.blocks.map(({ path }) => path) : []);
  const others = changes.filter(({ path }) => !own.has(path));
  const faults = checkChanges(others, pathRulesOf(contract));
  if (faults.length === 0) return;
  const names = faults.slice(0, 5).map(({ path }) => JSON.stringify(path.slice(0, 200)));
  throw new HubError(
    'HUB_TASK_STATE',
    `the model has not changed ${names.join(', ')}, and git sees a change there. If "git status" shows it in a new clone, too, line endings do not fit .gitattributes: commit what "git add --renormalize ." changes, cancel the task and make another. Otherwise somebody works in its worktree: run the task again`,
  );
}

const forbidden = (faults: readonly GateResult['faults'][number][]): TaskResult => ({
  type: 'stalled',
  cause: 'forbidden_path',
  detail: faults.map(({ path, why }) => `${JSON.stringify(path)} ${why}`).join('; '),
});

/** Checks paths and secrets of the task's `changes`, then runs the acceptance commands on a copy of the worktree. */
async function runGate(
  task: TaskState,
  { repository, repositories }: TaskPlace,
  worktree: Worktree,
  changes: readonly ChangedFile[],
  clock: Pick<Clock, 'monotonic'>,
  signal: AbortSignal,
): Promise<TaskResult> {
  const began = clock.monotonic();
  const use = () => ({
    calls: 0 as const,
    promptTokens: 0,
    completionTokens: 0,
    workMs: Math.round(clock.monotonic() - began),
  });
  const rules: PathRules = pathRulesOf(task.contract);
  const paths = changes.flatMap(({ path, status }) => (status === 'deleted' ? [] : [path]));
  const filters = await worktree.filters(paths, signal);
  const faults = [
    ...checkChanges(changes, rules),
    ...Array.from(filters, ([path, filter]) => ({ path, why: filteredBy(filter) })),
  ];
  const secrets = [...(await worktree.secrets(baseOf(task), signal))];
  const stalled = (cause: 'forbidden_path' | 'secret_found' | 'gate_failed', gate: GateResult) =>
    ({ type: 'stalled', cause, detail: details[cause], gate, use: use() }) as const;
  const scanned: GateResult = { passed: false, commands: [], faults, secrets };
  if (faults.length > 0) return stalled('forbidden_path', scanned);
  if (secrets.length > 0) return stalled('secret_found', scanned);
  const { acceptance } = task.contract;
  if (!acceptance) return { type: 'checked', gate: { ...scanned, passed: true }, use: use() };
  const report = await repositories.runAcceptance(
    { repository, worktree, ...limitsOf(acceptance) },
    signal,
  );
  const gate: GateResult = {
    ...scanned,
    passed: report.passed,
    image: report.image,
    commands: [...report.commands],
  };
  return report.passed ? { type: 'checked', gate, use: use() } : stalled('gate_failed', gate);
}

const details = {
  forbidden_path: 'the change touches paths that it must not',
  secret_found: 'the change adds secrets. Read them from the environment instead',
  gate_failed: 'an acceptance command failed',
} as const;

const limitsOf = ({ commands, timeout, image }: NonNullable<TaskContract['acceptance']>) => ({
  commands,
  timeoutMs: timeout * 1_000,
  ...(image !== undefined && { image }),
});
