import { retryable } from '#core';
import { type Principal, policyNameOf, principalKey } from '#policy';
import type { Step } from '../call.ts';

/**
 * Maximum total size of the unanswered large requests of one caller, in bytes. Each stays in memory until its answer.
 */
const maxBytes = 256 * 2 ** 20;
/** Size in bytes from which a request is large. Smaller requests are not counted: server queues limit their number. */
const largeBytes = 64 * 1024;

/** Creates the step that refuses a large request if the caller's unanswered large requests take up too much memory. */
export function createRequestBytesStep(): Step {
  const byCaller = new Map<string, number>();

  function add(caller: string, bytes: number): void {
    const held = (byCaller.get(caller) ?? 0) + bytes;
    if (held > 0) byCaller.set(caller, held);
    else byCaller.delete(caller);
  }

  return (resolved, next) => {
    const { request, principal } = resolved.call;
    const { length } = request.bytes;
    if (length < largeBytes) return next(resolved);
    const caller = principalKey(principal);
    const held = byCaller.get(caller) ?? 0;
    if (held + length > maxBytes) throw tooMuch(principal, held, length);
    add(caller, length);
    const free = () => add(caller, -length);
    try {
      const reply = next(resolved);
      if (reply instanceof Promise) void reply.then(free, free);
      else free();
      return reply;
    } catch (error) {
      free();
      throw error;
    }
  };
}

const tooMuch = (principal: Principal, held: number, length: number) =>
  retryable(
    'HUB_SERVER_BUSY',
    `this request has ${length} bytes, and those of ${JSON.stringify(policyNameOf(principal))} that are not answered have ${held}: the most is ${maxBytes} bytes together. Wait for answers, and send it again`,
  );
