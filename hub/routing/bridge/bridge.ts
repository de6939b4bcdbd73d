import { whole } from '#jsonrpc';
import type { Running, Server } from '#servers';
import { isStateless, keepsSessions } from './eras.ts';
import type { Answerer, Call, ResolvedCall, Step } from '../call.ts';
import { instanceKeyOf } from '../client-identity.ts';
import type { SuspendedCalls } from './input-required.ts';
import type { MethodNeeds } from '../methods/method.ts';
import { whenReady } from './ready.ts';
import type { Reply } from '../reply.ts';
import { type SendNeeds, send } from './send.ts';
import { admit } from '../steps/admission.ts';
import { type ToModernNeeds, toModern } from './to-modern.ts';
import { withTrace } from '../trace.ts';

export type InstanceNeeds = Pick<
  MethodNeeds,
  'servers' | 'statelessClients' | 'olderClients' | 'mayEnd'
>;

/**
 * The instance that works for the client of a call: one of its own, if the config wants that. Clients without
 * a session are told apart by what they call themselves; those that say nothing share one instance.
 */
export function instanceFor(server: Server, call: Call, needs: InstanceNeeds): Server {
  const { session } = call;
  const { instance, launch } = server.config;
  if (instance === 'shared')
    return keepsSessions(call) && launch.kind === 'remote'
      ? needs.olderClients.instanceOf(server)
      : server;
  if (keepsSessions(call))
    return session.client
      ? needs.servers.instances.of(server, session, session.client, needs.mayEnd)
      : server;
  return needs.statelessClients.instanceOf(server, instanceKeyOf(call));
}

/** Starts a server that does not run, as for a call. */
export const startFor = (call: Call, server: Server): Running | Promise<Running> =>
  server.running ?? admit(server, call, () => whenReady(call, server));

/**
 * The instance of a server that works for the client of a call, and runs. That of a remote server is known only
 * once the server runs.
 */
export async function workerFor(
  server: Server,
  call: Call,
  needs: InstanceNeeds,
): Promise<{ readonly worker: Server; readonly running: Running }> {
  for (let worker = instanceFor(server, call, needs); ;) {
    const running = worker.running ?? (await whenReady(call, worker));
    const other = instanceFor(server, call, needs);
    if (other === worker) return { worker, running };
    worker = other;
  }
}

/** Continues a suspended call with the answers in this request: the instance that it waits at is decided. */
export const createResumeStep =
  (suspendedCalls: Pick<SuspendedCalls, 'resume'>): Step =>
  (resolved, next) =>
    (isStateless(resolved.call) ? suspendedCalls.resume(resolved.call) : undefined) ??
    next(resolved);

/**
 * Sends an admitted call to its server, which is started if it does not run. Between a client and a server of one era
 * the bytes go on untouched but for the id, the progress token and the edits.
 */
export function createBridge(
  needs: InstanceNeeds & SendNeeds & ToModernNeeds & { readonly suspendedCalls: SuspendedCalls },
): Answerer {
  function sendTo(resolved: ResolvedCall, server: Server, running: Running): Promise<Reply> {
    const { introduction } = running;
    const { call, edits } = resolved;
    if (running.speaksBothEras || isStateless(introduction) === isStateless(call))
      return send(resolved, withTrace(call, edits), server, running, needs);
    return isStateless(introduction)
      ? toModern(resolved, server, running, needs)
      : needs.suspendedCalls.call(resolved, server, running);
  }

  function begin(resolved: ResolvedCall, server: Server): Promise<Reply> {
    const { running } = server;
    const { call } = resolved;
    if (running) return sendTo(resolved, server, running);
    if (server.config.instance === 'session')
      return whenReady(call, server).then(ready => sendTo(resolved, server, ready));
    // An instance that older clients share has the gate of its server: the call has passed it.
    return workerFor(server, call, needs).then(({ worker, running: ready }) =>
      sendTo(resolved, worker, ready),
    );
  }

  return resolved => {
    const { server, instance = server, restored } = resolved;
    if (!instance) throw new TypeError('a call of a server was expected');
    const reply = begin(resolved, instance);
    return restored ? reply.then(answered => restore(answered, restored)) : reply;
  };
}

const restore = (reply: Reply, restored: (bytes: Buffer) => Buffer): Reply => ({
  ...reply,
  bytes: restored(whole(reply.bytes)),
});
