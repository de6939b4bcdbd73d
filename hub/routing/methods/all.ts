import { tasksOfAll, modernTasksOfAll, knowsTasks } from './tasks.ts';
import { HubError } from '#core';
import { RpcError, membersOf, rpcCodes } from '#jsonrpc';
import type { ListKind } from '#servers';
import { isStateless, revisionOf } from '../bridge/eras.ts';
import { type Call, callTo, noEdits, requireString } from '../call.ts';
import type { Catalog } from '../catalog.ts';
import { type Method, type MethodNeeds, own } from './method.ts';
import type { Offering } from '../lists.ts';
import { withUri } from './uris.ts';
import { discoverAll, initializeAll, ping, setLevel } from './hub.ts';
import { listenAll } from './listen.ts';
import { subscribeAt, unsubscribeAt } from './subscribe.ts';

/** The offering for the client of a call: its own if its instances offer different items, else the shared one. */
const offeringFor = (call: Call, needs: MethodNeeds): Offering =>
  needs.ownOfferingOf(call) ?? needs;

const catalogFor = (call: Call, needs: MethodNeeds): Catalog => offeringFor(call, needs).catalog;

/** The error for an unknown tool or prompt. MCP requires "invalid params". */
const unknownName = (kind: ListKind, name: string) =>
  new HubError(
    'HUB_NAME_UNKNOWN',
    `no ${kind} is called ${JSON.stringify(name)}. Its server may not have been started yet: GET /servers shows their states`,
  );

function needResource(needs: MethodNeeds, uri: string, call: Call) {
  const found = catalogFor(call, needs).findResource(uri);
  if (!found)
    throw new RpcError(
      // MCP 2026-07-28 has no separate code for an unknown resource.
      isStateless(call) ? rpcCodes.invalidParams : rpcCodes.resourceNotFound,
      'HUB_NAME_UNKNOWN',
      `no server lists the resource ${JSON.stringify(uri)} or a template for it`,
      { uri },
    );
  return found;
}

const list = (kind: ListKind): Method =>
  own((call, needs) => {
    const { lists } = offeringFor(call, needs);
    const cursor = call.params.has('cursor')
      ? requireString(call, call.params, 'cursor', 'params.cursor').text
      : undefined;
    const answer = () =>
      lists.answer(kind, cursor, call.id, revisionOf(call), call.principal.grants);
    return lists.freshen(kind)?.then(answer) ?? answer();
  });

/** Resolves a tool or prompt by its public name, and replaces that with the server's own name. */
const byName =
  (kind: ListKind): Method =>
  (call, needs) => {
    const { span, text } = requireString(call, call.params, 'name', 'params.name');
    const entry = catalogFor(call, needs).find(kind, text);
    if (!entry) throw unknownName(kind, text);
    const edits = entry.name === text ? noEdits : [{ span, text: JSON.stringify(entry.name) }];
    return callTo(entry.server, call, edits, text);
  };

const callByName = byName('tool');

/** A call that may create a task. The hub remembers the server for later requests about the task. */
const callTool: Method = (call, needs) => {
  const resolved = callByName(call, needs);
  const isModern = isStateless(call);
  const makesTask = isModern ? knowsTasks(call) : call.params.has('task');
  return makesTask
    ? { ...resolved, remembered: { kind: isModern ? 'public_task' : 'task' } }
    : resolved;
};

/** The server of the requested resource, and the edits that set the server's own URI. */
function findResource(call: Call, needs: MethodNeeds) {
  const { span, text } = requireString(call, call.params, 'uri', 'params.uri');
  const { server, uri } = needResource(needs, text, call);
  const edits = uri === text ? noEdits : [{ span, text: JSON.stringify(uri) }];
  return { server, uri, publicUri: text, edits };
}

const read: Method = (call, needs) => {
  const { server, uri, publicUri, edits } = findResource(call, needs);
  const restored =
    uri === publicUri ? undefined : (bytes: Buffer) => withUri(bytes, uri, publicUri);
  return callTo(server, call, edits, publicUri, undefined, restored);
};

const subscribe: Method = (call, needs) => {
  const { edits, ...resource } = findResource(call, needs);
  return subscribeAt(call, edits, resource, needs);
};

const unsubscribe: Method = (call, needs) => {
  const { edits, ...resource } = findResource(call, needs);
  return unsubscribeAt(call, edits, resource, false, needs);
};

const complete: Method = (call, needs) => {
  const ref = membersOf(call.request.bytes, call.params.get('ref'));
  const type = requireString(call, ref, 'type', 'params.ref.type').text;
  if (type === 'ref/prompt') {
    const { span, text } = requireString(call, ref, 'name', 'params.ref.name');
    const entry = catalogFor(call, needs).find('prompt', text);
    if (!entry) throw unknownName('prompt', text);
    return callTo(entry.server, call, [{ span, text: JSON.stringify(entry.name) }]);
  }
  if (type !== 'ref/resource')
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `"params.ref.type" is ${JSON.stringify(type)}; it must be ref/prompt or ref/resource`,
    );
  const { span, text } = requireString(call, ref, 'uri', 'params.ref.uri');
  const catalog = catalogFor(call, needs);
  const entry = catalog.find('template', text) ?? catalog.find('resource', text);
  if (!entry)
    throw new HubError('HUB_NAME_UNKNOWN', `no server has the template ${JSON.stringify(text)}`);
  return callTo(entry.server, call, [{ span, text: JSON.stringify(entry.name) }]);
};

/** Methods of the endpoint of all servers for both kinds of clients. */
const shared = [
  ['tools/list', list('tool')],
  ['resources/list', list('resource')],
  ['resources/templates/list', list('template')],
  ['prompts/list', list('prompt')],
  ['tools/call', callTool],
  ['prompts/get', byName('prompt')],
  ['resources/read', read],
  ['completion/complete', complete],
] as const;

/** Methods of the endpoint of all servers for clients with a session, by name. */
export const methodsOfAll: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...shared,
  ['initialize', initializeAll],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ...tasksOfAll,
]);

/** Methods of the endpoint of all servers for clients without a session (MCP 2026-07-28). */
export const modernMethodsOfAll: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...shared,
  ['server/discover', discoverAll],
  ['subscriptions/listen', listenAll],
  ...modernTasksOfAll,
]);
