import type { GateResult, TaskState } from './task-state.ts';

/**
 * Returns a state without the secrets in texts of models, commands and judges. Each text is redacted separately, so
 * that a truncated key hides only the rest of its own text. Pure.
 */
export function redactedState(task: TaskState, redact: (text: string) => string): TaskState {
  const { gate, review, judgeNotes, why, halted } = task;
  const redactedGate = (of: GateResult): GateResult => ({
    ...of,
    commands: of.commands.map(one => ({ ...one, output: redact(one.output) })),
  });
  return {
    ...task,
    failures: task.failures.map(failure => ({
      ...failure,
      detail: redact(failure.detail),
      output: redact(failure.output),
      ...(failure.gate && { gate: redactedGate(failure.gate) }),
    })),
    ...(gate && { gate: redactedGate(gate) }),
    ...(review && {
      review: {
        ...review,
        issues: review.issues.map(issue => ({
          ...issue,
          rule: redact(issue.rule),
          quote: redact(issue.quote),
          why: redact(issue.why),
        })),
      },
    }),
    ...(judgeNotes !== undefined && { judgeNotes: redact(judgeNotes) }),
    ...(why !== undefined && { why: redact(why) }),
    ...(halted && { halted: { ...halted, message: redact(halted.message) } }),
  };
}
