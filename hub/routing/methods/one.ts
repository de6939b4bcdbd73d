import { HubError } from '#core';
import { RpcError, rpcCodes, stringAt } from '#rpc';
import type { Call } from '../call.ts';
import { type Method, serverOf } from '../method.ts';
import { relayBetterAtOne } from '../improve.ts';
import { relay } from '../relay.ts';
import { discoverOne, initializeOne, ping, setLevel } from './hub.ts';
import { listenOne } from './listen.ts';
import { subscribeAt, unsubscribeAt } from './subscribe.ts';
import { modernTasksOfOne, tasksOfOne } from './tasks.ts';

/** Whatever the method is, known to the hub or not: the server answers it. */
export const pass: Method = (call, needs) => {
  const server = serverOf(call);
  if (call.params.has('task')) {
    if (call.session.isSessionless)
      throw new HubError(
        'HUB_REQUEST_INVALID',
        '"params.task": nobody could ask for the task later, as this request has no session. Leave "task" out, or open a session at the server',
      );
    call.seen = (answer, instance) => void needs.tasks.made(server, instance, answer, call.session);
  }
  return needs.prompts?.named === undefined
    ? relay(call, [], server, needs)
    : relayBetterAtOne(call, server, needs);
};

const uriOf = ({ request, params }: Call) => stringAt(request.bytes, params.get('uri'));

const subscribe: Method = (call, needs) => {
  const uri = uriOf(call);
  // What names no resource is the server's to refuse.
  if (uri === undefined) return pass(call, needs);
  return subscribeAt(call, [], { server: serverOf(call), uri, publicUri: uri }, needs);
};

const unsubscribe: Method = (call, needs) => {
  const uri = uriOf(call);
  if (uri === undefined) return pass(call, needs);
  return unsubscribeAt(call, [], { server: serverOf(call), uri }, true, needs);
};

/** Methods that the stateless revision has not any more, whatever the server behind would say. */
const removed = [
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
].map((name): readonly [string, Method] => [
  name,
  () => {
    throw new RpcError(
      rpcCodes.methodNotFound,
      'HUB_REQUEST_INVALID',
      `MCP 2026-07-28 has no method ${JSON.stringify(name)}`,
    );
  },
]);

/** What the endpoint of one server does not simply pass on, for clients with a session. */
export const methodsOfOne: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', initializeOne],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ...tasksOfOne,
]);

/** The same for those without one (MCP 2026-07-28). */
export const modernMethodsOfOne: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['server/discover', discoverOne],
  ['subscriptions/listen', listenOne],
  ...modernTasksOfOne,
  ...removed,
]);
