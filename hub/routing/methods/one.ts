import { tasksOfOne, modernTasksOfOne } from './tasks.ts';
import { HubError } from '#core';
import { RpcError, rpcCodes, stringAt } from '#jsonrpc';
import { type Call, callTo, noEdits } from '../call.ts';
import { type Method, serverOf } from './method.ts';
import { discoverOne, initializeOne, ping, setLevel } from './hub.ts';
import { listenOne } from './listen.ts';
import { subscribeAt, unsubscribeAt } from './subscribe.ts';

/** Forwards a call to the server, also if the hub does not know the method. */
export const pass: Method = call => {
  const makesTask = call.params.has('task');
  if (makesTask && call.session.isSessionless)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      '"params.task": nobody could ask for the task later, as this request has no session. Leave "task" out, or open a session at the server',
    );
  return callTo(serverOf(call), call, noEdits, undefined, makesTask ? { kind: 'task' } : undefined);
};

/** A URI that is not a string is forwarded; the server refuses it. */
const uriOf = ({ request, params }: Call) => stringAt(request.bytes, params.get('uri'));

const subscribe: Method = (call, needs) => {
  const uri = uriOf(call);
  return uri === undefined
    ? pass(call, needs)
    : subscribeAt(call, noEdits, { server: serverOf(call), uri, publicUri: uri }, needs);
};

const unsubscribe: Method = (call, needs) => {
  const uri = uriOf(call);
  return uri === undefined
    ? pass(call, needs)
    : unsubscribeAt(call, noEdits, { server: serverOf(call), uri }, true, needs);
};

/** Methods that the stateless revision removed. They are refused whatever the server supports. */
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

/** Methods that the endpoint of one server does not simply forward, for clients with a session. */
export const methodsOfOne: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', initializeOne],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ...tasksOfOne,
]);

/**
 * Methods that the endpoint of one server does not simply forward, for clients without a session (MCP 2026-07-28).
 */
export const modernMethodsOfOne: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['server/discover', discoverOne],
  ['subscriptions/listen', listenOne],
  ...modernTasksOfOne,
  ...removed,
]);
