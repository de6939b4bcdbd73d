import { RpcError, rpcCodes } from '#jsonrpc';
import { isStateless } from '../bridge/eras.ts';
import type { Call } from '../call.ts';
import type { Method } from './method.ts';
import { methodsOfAll, modernMethodsOfAll } from './all.ts';
import { methodsOfOne, modernMethodsOfOne, pass } from './one.ts';

/** Finds the method that answers a call, by name, era and endpoint. Throws if the method is unknown. */
export function methodOf(call: Call): Method {
  const { request, session } = call;
  const isModern = isStateless(call);
  const { method } = request;
  // A server that ignores the request's id would handle it as a notification, and act on ids of other clients.
  if (method.startsWith('notifications/')) throw unknownMethod(method);
  if (session.endpoint !== 'all')
    return (isModern ? modernMethodsOfOne : methodsOfOne).get(method) ?? pass;
  const found = (isModern ? modernMethodsOfAll : methodsOfAll).get(method);
  if (found) return found;
  throw unknownMethod(method);
}

const unknownMethod = (method: string) =>
  new RpcError(
    rpcCodes.methodNotFound,
    'HUB_REQUEST_INVALID',
    `the hub knows no method ${JSON.stringify(method)} that is answered`,
  );
