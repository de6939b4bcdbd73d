import type { CallPermit, Server } from '#servers';
import { type Call, type Step, FailedCall } from '../call.ts';
import { setWork, throwIfCancelled } from '../session.ts';

/** Passes each call through the breaker and the limits of the instance that serves its client. */
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

/** Runs work that uses a server like a call, once the server admits it. */
export function admit<T>(
  server: Server,
  call: Call,
  work: (waitedMs: number) => T | Promise<T>,
): T | Promise<T> {
  const entered = server.admission.enter(call.session.key);
  if ('over' in entered) return workWith(entered, work);
  setWork(call.cancellation, entered);
  return entered.permit.then(permit => {
    setWork(call.cancellation, undefined);
    return workWith(permit, waitedMs => {
      throwIfCancelled(call);
      return work(waitedMs);
    });
  });
}

/** Releases the permit without delaying the reply. */
function workWith<T>(
  permit: CallPermit,
  work: (waitedMs: number) => T | Promise<T>,
): T | Promise<T> {
  try {
    const done = work(permit.waitedMs);
    if (done instanceof Promise)
      void done.then(
        () => permit.over(undefined, true),
        (error: unknown) => giveBack(permit, error),
      );
    else permit.over(undefined, true);
    return done;
  } catch (error) {
    giveBack(permit, error);
    throw error;
  }
}

const giveBack = (permit: CallPermit, error: unknown): void =>
  error instanceof FailedCall ? permit.over(error.error, true) : permit.over(error, false);
