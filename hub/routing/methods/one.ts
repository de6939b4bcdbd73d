import { encodeResult, rawText, stringAt } from '#rpc';
import { isResult, paramsOf, relay } from '../relay.ts';
import type { Method } from '../method.ts';
import { initializeOne, ping, setLevel } from './hub.ts';

/** Whatever the method is, known to the hub or not: the server answers it. */
export const pass: Method = (request, session, exchange) => {
  if (session.view === 'all') throw new TypeError('a view of one server was expected');
  return relay(request, paramsOf(request), [], session.view, session, exchange);
};

const subscribe: Method = async (request, session, exchange, needs) => {
  using _ = needs.subscriptions.claim(session);
  const answer = await pass(request, session, exchange, needs);
  const uri = stringAt(request.bytes, paramsOf(request).get('uri'));
  if (session.view !== 'all' && uri !== undefined && isResult(answer))
    needs.subscriptions.add(session.view, uri, session, uri);
  return answer;
};

const unsubscribe: Method = async (request, session, exchange, needs) => {
  const uri = stringAt(request.bytes, paramsOf(request).get('uri'));
  const others =
    session.view !== 'all' &&
    uri !== undefined &&
    !needs.subscriptions.remove(session.view, uri, session) &&
    needs.subscriptions.of(session.view, uri).size > 0;
  return others
    ? encodeResult(rawText(request.bytes, request.id), '{}')
    : await pass(request, session, exchange, needs);
};

/** What the endpoint of one server does not simply pass on. */
export const methodsOfOne: ReadonlyMap<string, Method> = new Map([
  ['initialize', initializeOne],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
]);
