import type { AuditedCall, CallBodies, LineTemplate } from './call-bodies.ts';
import type { WriteMembers } from './pages.ts';

/** Maximum number of waiting calls. A larger queue would delay the call that drains it. */
const maxCalls = 128;
const maxArgumentBytes = 64 * 1024;
/** Maximum size of arguments that are queued, in bytes. Larger ones are hashed at once, as hashing dominates then. */
const maxWaitingArguments = 2 * 1024;

/** Arguments of a call: a range of bytes in its message. */
export type ArgumentsText = {
  readonly message: Buffer;
  readonly start: number;
  readonly end: number;
};

/**
 * Creates the queue of answered calls whose lines are not built yet, in preallocated arrays. Building many lines at
 * once takes a third of the time, as the code stays in the processor's cache.
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
  /** Index of the call whose line is being built. */
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

  /** Builds the lines of all waiting calls. */
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
    /** Queues a call. `principal` is a policy name. Copies the arguments. */
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
