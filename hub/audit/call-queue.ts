import type { AuditedCall, CallBodies } from './call-bodies.ts';

/** Maximum number of waiting calls. More would delay the call that writes their lines. */
const maxCalls = 128;
const maxArgumentBytes = 64 * 1024;
/** Longer arguments do not wait: to hash them takes longer than to reach the code that does it. */
const maxWaitingArguments = 2 * 1024;

/**
 * The answered calls whose lines are not made yet, in preallocated arrays. To make many lines at once takes a third of
 * the time, because between two calls the processor has forgotten the code.
 */
export function createCallQueue(bodies: CallBodies, addLine: (members: Buffer) => void) {
  const numbers = () => new Float64Array(maxCalls);
  const [at, tookMs, argumentsFrom, argumentsEnd] = [numbers(), numbers(), numbers(), numbers()];
  const shared: Buffer[] = [];
  const sessions: string[] = [];
  const argumentBytes = Buffer.allocUnsafeSlow(maxArgumentBytes);
  let count = 0;
  let used = 0;

  /** Makes the lines of all waiting calls. */
  function drain(): void {
    const waiting = count;
    count = 0;
    used = 0;
    for (let index = 0; index < waiting; index++) {
      const members = shared[index];
      const session = sessions[index];
      if (!members || session === undefined) continue;
      const [from = 0, end = 0] = [argumentsFrom[index], argumentsEnd[index]];
      const args = end < 0 ? undefined : argumentBytes.subarray(from, end);
      addLine(
        bodies.write({ at: at[index] ?? 0, tookMs: tookMs[index] ?? 0, session }, members, args),
      );
    }
  }

  return {
    /** `principal` is a policy name; `args` the text of the arguments. Copies what it keeps. */
    add(call: AuditedCall, principal: string, args: Buffer | undefined): void {
      const members = bodies.sharedOf(call, principal);
      const length = args?.length ?? 0;
      if (count === maxCalls || used + length > maxArgumentBytes || length > maxWaitingArguments)
        drain();
      if (length > maxWaitingArguments) return addLine(bodies.write(call, members, args));
      at[count] = call.at;
      tookMs[count] = call.tookMs;
      shared[count] = members;
      sessions[count] = call.session;
      argumentsFrom[count] = used;
      argumentsEnd[count] = args ? used + args.copy(argumentBytes, used) : -1;
      used += length;
      count++;
    },
    drain,
  };
}
