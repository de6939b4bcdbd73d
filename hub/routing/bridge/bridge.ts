import { whole } from '#jsonrpc';
import type { Running, Server } from '#servers';
import { isStateless, keepsSessions } from './eras.ts';
import type { Answerer, Call, ResolvedCall, Step, Reply } from '../call.ts';
import { instanceKeyOf } from '../client-identity.ts';
import type { SuspendedCalls } from './input-required.ts';
import type { MethodNeeds } from '../methods/method.ts';
import { whenReady } from './ready.ts';
import { type SendNeeds, send } from './send.ts';
import { admit } from '../steps/admission.ts';
import { type ToModernNeeds, toModern } from './to-modern.ts';
import { withTrace } from '../trace.ts';

export type InstanceNeeds = Pick<
  MethodNeeds,
  'servers' | 'statelessClients' | 'olderClients' | 'mayEnd'
>;

/**
 * The instance that serves the client of a call. The config may give each client its own instance. Sessionless
 * clients are identified by their `clientInfo`; clients without one share an instance.
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

/** Starts a stopped server, subject to the same admission as a call. */
export const startFor = (call: Call, server: Server): Running | Promise<Running> =>
  server.running ?? admit(server, call, () => whenReady(call, server));

/**
 * The running instance that serves the client of a call. The instance of a remote server is known only once the
 * server runs.
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

/**
 * Continues a suspended call with the answers in this request. The call stays at the instance that is waiting for
 * them.
 */
export const createResumeStep =
  (suspendedCalls: Pick<SuspendedCalls, 'resume'>): Step =>
  (resolved, next) =>
    (isStateless(resolved.call) ? suspendedCalls.resume(resolved.call) : undefined) ??
    next(resolved);

/**
 * Sends an admitted call to its server and starts the server if needed. If client and server are of the same era, the
 * bytes are forwarded unchanged except for the id, the progress token and the edits.
 */
export function createBridge(
  needs: InstanceNeeds & SendNeeds & ToModernNeeds & { readonly suspendedCalls: SuspendedCalls },
): Answerer {
  function sendTo(resolved: ResolvedCall, server: Server, running: Running): Promise<Reply> {
    const { serverInfo } = running;
    const { call, edits } = resolved;
    if (running.speaksBothEras || isStateless(serverInfo) === isStateless(call))
      return send(resolved, withTrace(call, edits), server, running, needs);
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
    // An instance shared by older clients uses the gate of its server, which the call has already passed.
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
