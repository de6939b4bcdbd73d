import { HubError } from '#core';
import {
  type Request,
  type Span,
  RpcError,
  encodeResult,
  membersOf,
  rawText,
  rpcCodes,
  stringAt,
} from '#rpc';
import type { ListKind } from '#servers';
import type { Entry } from '../catalog.ts';
import { isResult, paramsOf, relay } from '../relay.ts';
import type { Method, MethodNeeds } from '../method.ts';
import { initializeAll, ping, setLevel } from './hub.ts';

/** The resource that shows the hub itself (spec 5.5). */
export const serversUri = 'hub://servers';

type Params = ReadonlyMap<string, Span>;

/** The string under a key of params. Throws HUB_REQUEST_INVALID where it is none. */
function needString(request: Request, members: Params | undefined, key: string, path: string) {
  const span = members?.get(key);
  const text = stringAt(request.bytes, span);
  if (!span || text === undefined)
    throw new HubError('HUB_REQUEST_INVALID', `"${path}" must be a string`);
  return { span, text };
}

/** Throws what MCP asks for where a tool or prompt is unknown: invalid params. */
function needEntry(needs: MethodNeeds, kind: ListKind, name: string): Entry {
  const entry = needs.catalog.find(kind, name);
  if (!entry)
    throw new HubError(
      'HUB_NAME_UNKNOWN',
      `no ${kind} is called ${JSON.stringify(name)}. Its server may not have been started yet: GET /servers shows their states`,
    );
  return entry;
}

function needResource(needs: MethodNeeds, uri: string) {
  const found = needs.catalog.findResource(uri);
  if (!found)
    throw new RpcError(
      rpcCodes.resourceNotFound,
      'HUB_NAME_UNKNOWN',
      `no server lists the resource ${JSON.stringify(uri)} or a template for it`,
    );
  return found;
}

const list =
  (kind: ListKind): Method =>
  (request, _session, _exchange, needs) => {
    const cursor = paramsOf(request).get('cursor');
    const text = cursor && needString(request, paramsOf(request), 'cursor', 'params.cursor').text;
    return encodeResult(rawText(request.bytes, request.id), needs.lists.page(kind, text));
  };

/** Tools and prompts are called by their public names and known to their servers by their own. */
const byName =
  (kind: ListKind): Method =>
  (request, session, exchange, needs) => {
    const params = paramsOf(request);
    const { span, text } = needString(request, params, 'name', 'params.name');
    const { server, name } = needEntry(needs, kind, text);
    const edits = name === text ? [] : [{ span, text: JSON.stringify(name) }];
    return relay(request, params, edits, server, session, exchange);
  };

const read: Method = async (request, session, exchange, needs) => {
  const params = paramsOf(request);
  const { span, text } = needString(request, params, 'uri', 'params.uri');
  if (text === serversUri) {
    const contents = [
      { uri: serversUri, mimeType: 'application/json', text: JSON.stringify(needs.snapshot()) },
    ];
    return encodeResult(rawText(request.bytes, request.id), JSON.stringify({ contents }));
  }
  const { server, uri } = needResource(needs, text);
  const edits = uri === text ? [] : [{ span, text: JSON.stringify(uri) }];
  return await relay(request, params, edits, server, session, exchange);
};

const subscribe: Method = async (request, session, exchange, needs) => {
  const params = paramsOf(request);
  const { span, text } = needString(request, params, 'uri', 'params.uri');
  const { server, uri } = needResource(needs, text);
  const edits = uri === text ? [] : [{ span, text: JSON.stringify(uri) }];
  using _ = needs.subscriptions.claim(session);
  const answer = await relay(request, params, edits, server, session, exchange);
  if (isResult(answer)) needs.subscriptions.add(server, uri, session, text);
  return answer;
};

const unsubscribe: Method = async (request, session, exchange, needs) => {
  const params = paramsOf(request);
  const { span, text } = needString(request, params, 'uri', 'params.uri');
  const { server, uri } = needResource(needs, text);
  if (!needs.subscriptions.remove(server, uri, session))
    return encodeResult(rawText(request.bytes, request.id), '{}');
  const edits = uri === text ? [] : [{ span, text: JSON.stringify(uri) }];
  return await relay(request, params, edits, server, session, exchange);
};

const complete: Method = async (request, session, exchange, needs) => {
  const params = paramsOf(request);
  const ref = membersOf(request.bytes, params.get('ref'));
  const type = needString(request, ref, 'type', 'params.ref.type').text;
  if (type === 'ref/prompt') {
    const { span, text } = needString(request, ref, 'name', 'params.ref.name');
    const { server, name } = needEntry(needs, 'prompt', text);
    const edits = [{ span, text: JSON.stringify(name) }];
    return await relay(request, params, edits, server, session, exchange);
  }
  if (type !== 'ref/resource')
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `"params.ref.type" is ${JSON.stringify(type)}; it must be ref/prompt or ref/resource`,
    );
  const { span, text } = needString(request, ref, 'uri', 'params.ref.uri');
  const entry = needs.catalog.find('template', text) ?? needs.catalog.find('resource', text);
  if (!entry)
    throw new HubError('HUB_NAME_UNKNOWN', `no server has the template ${JSON.stringify(text)}`);
  const edits = [{ span, text: JSON.stringify(entry.name) }];
  return await relay(request, params, edits, entry.server, session, exchange);
};

/** What the endpoint of all servers answers, by method. */
export const methodsOfAll: ReadonlyMap<string, Method> = new Map([
  ['initialize', initializeAll],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['tools/list', list('tool')],
  ['resources/list', list('resource')],
  ['resources/templates/list', list('template')],
  ['prompts/list', list('prompt')],
  ['tools/call', byName('tool')],
  ['prompts/get', byName('prompt')],
  ['resources/read', read],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ['completion/complete', complete],
]);
