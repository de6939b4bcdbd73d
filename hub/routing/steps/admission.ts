import type { Leave, Server } from '#servers';
import type { Call, Step } from '../call.ts';
import { setWork, throwIfCancelled } from '../cancellation.ts';
import { FailedCall } from '../reply.ts';

/** Lets each call pass the breaker and the caps of the instance that works for its client. */
export const createAdmissionStep =
  (instanceFor: (server: Server, call: Call) => Server): Step =>
  (resolved, next) => {
    if (!resolved.server) return next(resolved);
    const { call } = resolved;
    const server = instanceFor(resolved.server, call);
    return admit(server, call, waitedMs =>
      next(
        server === resolved.server && waitedMs === 0
          ? resolved
          : { ...resolved, instance: server, waitedMs },
      ),
    );
  };

/** Does work that uses a server as a call does, once the server admits it. */
export function admit<T>(
  server: Server,
  call: Call,
  work: (waitedMs: number) => T | Promise<T>,
): T | Promise<T> {
  const entered = server.gate.enter(call.session.key);
  if ('over' in entered) return workWith(entered, work);
  setWork(call.cancellation, entered);
  return entered.leave.then(leave => {
    setWork(call.cancellation, undefined);
    return workWith(leave, waitedMs => {
      throwIfCancelled(call);
      return work(waitedMs);
    });
  });
}

/** Gives the leave back beside the reply, which is not delayed by that. */
function workWith<T>(leave: Leave, work: (waitedMs: number) => T | Promise<T>): T | Promise<T> {
  try {
    const done = work(leave.waitedMs);
    if (done instanceof Promise)
      void done.then(
        () => leave.over(undefined, true),
        (error: unknown) => giveBack(leave, error),
      );
    else leave.over(undefined, true);
    return done;
  } catch (error) {
    giveBack(leave, error);
    throw error;
  }
}

const giveBack = (leave: Leave, error: unknown): void =>
  error instanceof FailedCall ? leave.over(error.error, true) : leave.over(error, false);
