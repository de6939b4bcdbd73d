import type { Edit } from '#rpc';
import type { Running, Server } from '#servers';
import { type Call, needWanted } from './call.ts';
import { instanceKeyOf } from './client-identity.ts';
import type { MethodNeeds } from './method.ts';
import { whenReady } from './ready.ts';
import { pass } from './send.ts';
import { toModern } from './to-modern.ts';
import { withTrace } from './trace.ts';

type Needs = Pick<
  MethodNeeds,
  'servers' | 'asks' | 'inputs' | 'pages' | 'clock' | 'statelessClients' | 'olderClients' | 'mayEnd'
>;

/**
 * The instance that works for the client of a call: one of its own, where the config wants that. Clients without
 * a session are told apart by what they call themselves; those that say nothing share one instance.
 */
export function instanceFor(server: Server, call: Call, needs: Needs): Server {
  const { session, era } = call;
  const { instance, launch } = server.config;
  if (instance === 'shared')
    return era === 'legacy' && launch.kind === 'remote'
      ? needs.olderClients.instanceOf(server)
      : server;
  if (era === 'legacy')
    return session.client
      ? needs.servers.instances.of(server, session, session.client, needs.mayEnd)
      : server;
  return needs.statelessClients.instanceOf(server, instanceKeyOf(call));
}

/**
 * Passes a request to a server, which is started when it needs to be, and gives the bytes of its
 * answer. Between a client and a server that speak alike the bytes go on untouched but for the id, the
 * progress token and the edits.
 */
export function relay(
  call: Call,
  edits: readonly Edit[],
  server: Server,
  needs: Needs,
): Promise<Buffer> {
  call.server = server.config.name;
  // The instance that it waits at is the one that it began at.
  const resumed = call.era === 'modern' ? needs.inputs.resume(call) : undefined;
  if (resumed) return resumed;
  return relayTo(instanceFor(server, call, needs), call, edits, needs);
}

/** The same where the instance that is to answer is known. */
export function relayTo(
  instance: Server,
  call: Call,
  edits: readonly Edit[],
  needs: Needs,
): Promise<Buffer> {
  const entered = instance.gate.enter(call.session.key, call);
  if (!(entered instanceof Promise)) {
    call.leave = entered;
    return begin(call, edits, instance, needs);
  }
  return entered.then(leave => {
    call.leave = leave;
    call.flight = undefined;
    needWanted(call);
    return begin(call, edits, instance, needs);
  });
}

/** What runs, for a request that is not sent on: what does not run is started as for a call. */
export async function reach(call: Call, server: Server): Promise<Running> {
  if (server.running) return server.running;
  call.server = server.config.name;
  call.leave = await server.gate.enter(call.session.key, call);
  needWanted(call);
  return await whenReady(call, server);
}

/**
 * The instance of a server that works for the client of a call, and runs. That of a server elsewhere is known only
 * once the server runs.
 */
export async function workerFor(
  server: Server,
  call: Call,
  needs: Needs,
): Promise<{ readonly worker: Server; readonly running: Running }> {
  for (let worker = instanceFor(server, call, needs); ;) {
    const running = worker.running ?? (await whenReady(call, worker));
    const other = instanceFor(server, call, needs);
    if (other === worker) return { worker, running };
    worker = other;
  }
}

/** Sends a request that may be sent, as soon as there is somebody to send it to. */
function begin(call: Call, edits: readonly Edit[], server: Server, needs: Needs): Promise<Buffer> {
  const { running } = server;
  if (running) return send(call, edits, server, running, needs);
  if (server.config.instance === 'session')
    return whenReady(call, server).then(ready => send(call, edits, server, ready, needs));
  // An instance that older clients share has the gate of its server: the call has passed it.
  return workerFor(server, call, needs).then(({ worker, running: ready }) =>
    send(call, edits, worker, ready, needs),
  );
}

function send(
  call: Call,
  edits: readonly Edit[],
  server: Server,
  running: Running,
  needs: Needs,
): Promise<Buffer> {
  const { era } = running.introduction;
  if (era === call.era) return pass(call, withTrace(call, edits), server, running, needs.pages);
  return era === 'modern'
    ? toModern(call, edits, server, running, needs)
    : needs.inputs.call(call, edits, server, running);
}
