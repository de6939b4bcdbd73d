import type { AuditedCall, CallBodies, LineTemplate } from './call-bodies.ts';
import type { WriteMembers } from './pages.ts';

/** Maximum number of waiting calls. More would delay the call that writes their lines. */
const maxCalls = 128;
const maxArgumentBytes = 64 * 1024;
/** Longer arguments do not wait: to hash them takes longer than to reach the code that does it. */
const maxWaitingArguments = 2 * 1024;

/** The text of the arguments of a call, as a part of its message. */
export type ArgumentsText = {
  readonly message: Buffer;
  readonly start: number;
  readonly end: number;
};

/**
 * The answered calls whose lines are not made yet, in preallocated arrays. To make many lines at once takes a third of
 * the time, because between two calls the processor has forgotten the code.
 */
export function createCallQueue(
  bodies: CallBodies,
  addLine: (write: WriteMembers, maxBytes: number) => void,
) {
  const numbers = () => new Float64Array(maxCalls);
  const [at, tookMs, argumentsFrom, argumentsEnd] = [numbers(), numbers(), numbers(), numbers()];
  const templates: LineTemplate[] = [];
  const sessions: string[] = [];
  const argumentBytes = Buffer.allocUnsafeSlow(maxArgumentBytes);
  let count = 0;
  let used = 0;
  /** The call whose line is being made. */
  let current = 0;
  let template: LineTemplate | undefined;
  const numbersOf = { at: 0, tookMs: 0, session: '' };

  function writeCurrent(to: Buffer, start: number): number {
    if (!template) return start;
    const [from = 0, end = 0] = [argumentsFrom[current], argumentsEnd[current]];
    const args = end < 0 ? undefined : argumentBytes.subarray(from, end);
    numbersOf.at = at[current] ?? 0;
    numbersOf.tookMs = tookMs[current] ?? 0;
    numbersOf.session = sessions[current] ?? '';
    return bodies.write(to, start, numbersOf, template, args);
  }

  /** Makes the lines of all waiting calls. */
  function drain(): void {
    const waiting = count;
    count = 0;
    used = 0;
    for (current = 0; current < waiting; current++) {
      template = templates[current];
      if (template) addLine(writeCurrent, bodies.maxBytes(template, sessions[current] ?? ''));
    }
  }

  return {
    /** `principal` is a policy name. Copies what it keeps. */
    add(call: AuditedCall, principal: string, args: ArgumentsText | undefined): void {
      const members = bodies.templateOf(call, principal);
      const length = args ? args.end - args.start : 0;
      if (count === maxCalls || used + length > maxArgumentBytes || length > maxWaitingArguments)
        drain();
      if (args && length > maxWaitingArguments) {
        const text = args.message.subarray(args.start, args.end);
        return addLine(
          (to, start) => bodies.write(to, start, call, members, text),
          bodies.maxBytes(members, call.session),
        );
      }
      at[count] = call.at;
      tookMs[count] = call.tookMs;
      templates[count] = members;
      sessions[count] = call.session;
      argumentsFrom[count] = used;
      argumentsEnd[count] = args ? used + length : -1;
      args?.message.copy(argumentBytes, used, args.start, args.end);
      used += length;
      count++;
    },
    drain,
  };
}
