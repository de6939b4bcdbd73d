import { HubError } from '#core';
import { entryDigestFor } from '#definitions';
import { whole } from '#jsonrpc';
import { isStateless } from '#mcp';
import type { CallPermit, Running, Server } from '#servers';
import {
  type Answerer,
  type Call,
  type Reply,
  type ResolvedCall,
  type Step,
  FailedCall,
} from '../call.ts';
import type { ClientInstances } from '../client-instances.ts';
import { refuseHeld } from '../held-items.ts';
import { turnKeyOf } from '../client-identity.ts';
import { setWork, throwIfCancelled } from '../session.ts';
import { withTrace } from '../trace.ts';
import type { SuspendedCalls } from './input-required.ts';
import { type HubInputsNeeds, withHubInputs } from './hub-inputs.ts';
import { send } from './send.ts';
import { type ToModernNeeds, toModern } from './to-modern.ts';

type Instances = Pick<ClientInstances, 'instanceFor'>;

/** Waits for a server to start. Throws HUB_CALL_CANCELLED if the client cancels the call meanwhile. */
export async function whenReady(call: Call, server: Server): Promise<Running> {
  const cancelled = Promise.withResolvers<never>();
  const { name } = server.config;
  setWork(call.cancellation, {
    cancel: () =>
      cancelled.reject(
        new HubError('HUB_CALL_CANCELLED', `the client cancelled while ${name} started`, {
          data: { server: name },
        }),
      ),
  });
  return await Promise.race([server.ready(), cancelled.promise]);
}

/**
 * Returns the running server for a call, and starts the server if necessary. Starting needs the same admission as a
 * call.
 */
export const startFor = (call: Call, server: Server): Running | Promise<Running> =>
  server.running ?? admit(server, call, () => whenReady(call, server));

/**
 * Returns the running instance that serves the client of a call. At a remote server, the instance is known only once
 * the server runs.
 */
export async function workerFor(
  server: Server,
  call: Call,
  clients: Instances,
): Promise<{ readonly worker: Server; readonly running: Running }> {
  for (let worker = clients.instanceFor(server, call); ;) {
    const running = worker.running ?? (await whenReady(call, worker));
    const other = clients.instanceFor(server, call);
    if (other === worker) return { worker, running };
    worker = other;
  }
}

/**
 * Creates the step that continues a suspended call with the answers in this request, at the instance that waits for
 * them.
 */
export const createResumeStep =
  (suspendedCalls: Pick<SuspendedCalls, 'resume'>): Step =>
  (resolved, next) => {
    const resumed = suspendedCalls.resume(resolved.call);
    return resumed ? restore(resolved, resumed) : next(resolved);
  };

/** Puts the client's names into the reply of a server. */
const restore = ({ restored }: ResolvedCall, reply: Promise<Reply>): Promise<Reply> =>
  restored
    ? reply.then(answered => ({ ...answered, bytes: restored(whole(answered.bytes)) }))
    : reply;

/**
 * Sends an admitted call to its server and starts the server if needed. If client and server are of the same era, the
 * bytes are forwarded unchanged except for the id, the progress token and the edits.
 */
export function createBridge(
  needs: { readonly clients: Instances } & HubInputsNeeds &
    ToModernNeeds & { readonly suspendedCalls: SuspendedCalls },
): Answerer {
  function sendTo(resolved: ResolvedCall, server: Server, running: Running): Promise<Reply> {
    if (server.held) refuseHeld(resolved, server);
    refuseReplaced(resolved, server);
    const { serverInfo } = running;
    const { call } = resolved;
    if (running.speaksBothEras || isStateless(serverInfo) === isStateless(call)) {
      const edits = call.trace ? withTrace(call, resolved.edits) : resolved.edits;
      return (
        (isStateless(call) ? withHubInputs(resolved, server, running, needs) : undefined) ??
        send(resolved, edits, server, running, needs)
      );
    }
    return isStateless(serverInfo)
      ? toModern(resolved, server, running, needs)
      : needs.suspendedCalls.call(resolved, server, running);
  }

  function begin(resolved: ResolvedCall, server: Server): Promise<Reply> {
    const { running } = server;
    const { call } = resolved;
    if (running) return sendTo(resolved, server, running);
    if (server.config.instance === 'session')
      return whenReady(call, server).then(ready => sendTo(resolved, server, ready));
    // An instance that older clients share uses the admission of its server, which the call has already passed.
    return workerFor(server, call, needs.clients).then(({ worker, running: ready }) =>
      sendTo(resolved, worker, ready),
    );
  }

  return resolved => {
    const { server, instance = server } = resolved;
    if (!instance) throw new TypeError('a call of a server was expected');
    return restore(resolved, begin(resolved, instance));
  };
}

/**
 * Throws HUB_APPROVAL_NEEDED if the call was approved for another program: the config may have changed while it
 * waited.
 */
function refuseReplaced({ approvedEntry }: ResolvedCall, { config }: Server): void {
  if (approvedEntry === undefined || approvedEntry === entryDigestFor(config)) return;
  throw new HubError(
    'HUB_APPROVAL_NEEDED',
    `the config of ${config.name} changed after a person was asked about this call, so it was not made. Send the same call again`,
    { data: { server: config.name } },
  );
}

/** Creates the step that passes each call through the breaker and the limits of the instance that serves its client. */
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

/** Runs work that uses a server, once the breaker and the limits of the server admit it as a call. */
export function admit<T>(
  server: Server,
  call: Call,
  work: (waitedMs: number) => T | Promise<T>,
): T | Promise<T> {
  const entered = server.admission.enter(turnKeyOf(call));
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

/** Runs admitted work, and releases its permit without delaying the reply. */
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
