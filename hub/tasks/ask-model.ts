import { type Clock, HubError, type JsonObject, type Log, durationText } from '#core';
import type { ModelCalls, ModelRunResult } from './model-calls/model-calls-types.ts';
import { endOf } from './after-result.ts';
import { modelOf } from './phases.ts';
import { repairPrompt } from './prompts.ts';
import type { CallUse, TaskResult } from './task-events.ts';
import type { StallCause, TaskState, TaskStep } from './task-state.ts';

export type AskNeeds = {
  readonly models: ModelCalls;
  /** Returns the cost of a model's tokens. */
  readonly costOf: (model: string, tokens: ModelRunResult['tokens']) => number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** Removes secrets from a text. */
  readonly redact: (text: string) => string;
};

type ModelQuestion = {
  readonly prompt: string;
  /** JSON schema of the answer. Undefined: the answer is text. */
  readonly format?: JsonObject;
  /** Called now and then while the model writes its answer. */
  readonly onProgress: (text: string) => void;
};

/** Maximum length of an answer in characters. A longer one counts as malformed. */
const maxAnswer = 512 * 1024;
const minuteMs = 60_000;
/** Number of characters between two progress reports. */
const progressEvery = 500;

/**
 * Asks the model of a phase. Failures of the model are returned as `stalled`; faults of the infrastructure are thrown
 * and count as no attempt. Does not ask if the budget is spent.
 */
export async function askModel(
  task: TaskState,
  step: Extract<TaskStep, { kind: 'asking' }>,
  { prompt, format, onProgress }: ModelQuestion,
  { models, costOf, clock, log, redact }: AskNeeds,
  signal: AbortSignal,
): Promise<TaskResult> {
  const spent = spentBudget(task);
  if (spent !== undefined) return { type: 'budget_spent', what: spent };
  await models.check(signal);
  const { contract } = task;
  const { phase, repair } = step;
  const model = modelOf(task, phase);
  const whole = repair ? repairPrompt(prompt, repair) : prompt;
  const fields = { task: contract.task_id, phase, model };
  log.debug({ ...fields, prompt: redact(whole) }, 'request of the pipeline');
  const began = clock.monotonic();
  const left = minutesLeft(task);
  let written = 0;
  let reported = 0;
  try {
    const result = await models.run(
      {
        job: task.job ?? contract.task_id,
        model,
        prompt: whole,
        format,
        ...(left !== undefined && { timeoutMs: left }),
        onProgress(text) {
          written += text.length;
          if (written < reported + progressEvery) return;
          reported = written;
          onProgress(`${model} has written ${written} characters`);
        },
      },
      signal,
    );
    log.debug(
      { ...fields, answer: redact(result.text), tokens: result.tokens },
      'answer of the pipeline',
    );
    return resultOf(task, step, result, costOf(model, result.tokens));
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_MODEL_CALL_TIMEOUT') throw error;
    const workMs = Math.round(clock.monotonic() - began);
    return {
      type: 'stalled',
      cause: 'timeout',
      detail: `${error.message} (after ${durationText(workMs)})`,
      use: { calls: 1, promptTokens: 0, completionTokens: 0, workMs },
    };
  }
}

function resultOf(
  task: TaskState,
  { phase, repair }: Extract<TaskStep, { kind: 'asking' }>,
  { text, model, tokens, durationMs, doneReason, thinkingOnly }: ModelRunResult,
  cost: number,
): TaskResult {
  const use: CallUse = {
    calls: 1,
    promptTokens: tokens.prompt,
    completionTokens: tokens.completion,
    workMs: Math.round(durationMs),
    cost,
  };
  const stalled = (cause: StallCause, detail: string): TaskResult => ({
    type: 'stalled',
    cause,
    detail,
    output: text,
    use,
  });
  if (thinkingOnly) return stalled('thinking_only', `${model} has thought, and said nothing`);
  if (doneReason === 'length')
    return stalled(
      'cut_off',
      `the answer of ${model} ended at its limit of tokens. Write less, in smaller blocks`,
    );
  if (text.trim() === '') return stalled('empty_output', `${model} has answered nothing`);
  const last = task.failures.findLast(failure => failure.phase === phase)?.output ?? '';
  const again = `${model} has given the same answer again`;
  if (text === repair?.answer) return stalled('repeated_output', `${again}: ${repair.problem}`);
  if (last !== '' && endOf(text) === last) return stalled('repeated_output', again);
  if (text.length > maxAnswer)
    return stalled(
      'malformed_output',
      `the answer of ${model} has more than ${maxAnswer} characters`,
    );
  return { type: 'answered', answer: text, use };
}

/** Returns which budget is spent; undefined if none is. */
function spentBudget({ contract, totals }: TaskState): string | undefined {
  const { tokens, minutes } = contract.budget;
  const used = totals.promptTokens + totals.completionTokens;
  if (tokens !== undefined && used >= tokens) return `${used} of ${tokens} tokens`;
  if (minutes !== undefined && totals.workMs >= minutes * minuteMs)
    return `${durationText(totals.workMs)} of ${minutes} minutes`;
  return undefined;
}

const minutesLeft = ({ contract, totals }: TaskState): number | undefined =>
  contract.budget.minutes === undefined
    ? undefined
    : Math.max(1, Math.round(contract.budget.minutes * minuteMs - totals.workMs));
