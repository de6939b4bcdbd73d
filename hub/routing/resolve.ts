import {
  type Edit,
  type Span,
  RpcError,
  elementsOf,
  membersOf,
  readAnswer,
  rpcCodes,
  splice,
  stringAt,
} from '#jsonrpc';
import { isStateless } from '#mcp';
import type { ListKind } from '#servers';
import { asPrivate } from './bridge/results.ts';
import { revisionOf } from './client-identity.ts';
import {
  type Call,
  type ResolvedCall,
  callTo,
  invalidRequest,
  methodNotFound,
  noEdits,
  ownCall,
  requireInitialized,
  requireString,
} from './call.ts';
import { completeAtAny, completeAtOne } from './methods/completion.ts';
import {
  discoverAll,
  discoverOne,
  initializeAll,
  initializeOne,
  ping,
  setLevel,
} from './methods/hub.ts';
import { type Method, type MethodNeeds, own, serverOf } from './methods/method.ts';
import { itemMethodsOfOne, pass, unknownName } from './methods/one-server.ts';
import {
  type Resource,
  listenAll,
  listenOne,
  subscribeAt,
  unsubscribeAt,
} from './methods/subscriptions.ts';
import {
  knowsTasks,
  modernTasksOfAll,
  modernTasksOfOne,
  tasksOfAll,
  tasksOfOne,
} from './methods/tasks.ts';

/** Resolves a call. If that fails, the resolved call answers with the error. */
export function resolveCall(call: Call, needs: MethodNeeds): ResolvedCall {
  try {
    requireInitialized(call);
    return methodOf(call)(call, needs);
  } catch (error) {
    return ownCall(call, () => {
      throw error;
    });
  }
}

/** Maximum length of a method name in characters. The log, the activity and errors contain it. */
const maxMethodLength = 256;

/** Finds the method that answers a call, by name, era and endpoint. Throws if the method is unknown. */
function methodOf(call: Call): Method {
  const { request, session } = call;
  const isModern = isStateless(call);
  const { method } = request;
  if (method.length > maxMethodLength)
    throw invalidRequest(
      `the method has ${method.length} characters, and the hub takes at most ${maxMethodLength}`,
    );
  // A server that ignores the request's id would handle the request as a notification, and act on ids of other
  // clients.
  if (method.startsWith('notifications/')) throw unknownMethod(method);
  if (session.endpoint !== 'all')
    return (isModern ? modernMethodsOfOne : methodsOfOne).get(method) ?? pass;
  const found = (isModern ? modernMethodsOfAll : methodsOfAll).get(method);
  if (!found) throw unknownMethod(method);
  return found;
}

const unknownMethod = (method: string) =>
  methodNotFound(`the hub knows no method ${JSON.stringify(method)} that is answered`);

const list = (kind: ListKind): Method =>
  own((call, needs) => {
    const { lists } = needs.clients.offeringFor(call);
    const cursor = call.params.has('cursor')
      ? requireString(call, call.params, 'cursor', 'params.cursor').text
      : undefined;
    const { principal } = call;
    if (kind === 'tool' && needs.hub.find && needs.access.findOf(principal))
      needs.hub.find.prepare(needs.clients.offeringFor(call).catalog.list('tool'));
    const answer = () =>
      lists.answer(
        kind,
        cursor,
        call.id,
        revisionOf(call),
        principal.grants,
        needs.access.viewOf(principal),
      );
    return lists.freshen(kind)?.then(answer) ?? answer();
  });

/** Resolves a tool or prompt by its public name, and replaces the public name with the server's own name. */
const byName =
  (kind: ListKind): Method =>
  (call, needs) => {
    const { span, text } = requireString(call, call.params, 'name', 'params.name');
    const entry = needs.clients.offeringFor(call).catalog.find(kind, text);
    if (!entry) throw unknownName(kind, text);
    const edits = entry.name === text ? noEdits : [{ span, text: JSON.stringify(entry.name) }];
    return callTo(entry.server, call, { edits, name: text });
  };

const callByName = byName('tool');

const callTool: Method = (call, needs) =>
  needs.hub.find && needs.access.findOf(call.principal)
    ? needs.hub.find.resolve(call, needs, real => callToolOfServer(real, needs))
    : callToolOfServer(call, needs);

/** Resolves a tool call, which may create a task. The hub remembers the server for later requests about the task. */
const callToolOfServer: Method = (call, needs) => {
  const resolved = callByName(call, needs);
  const isModern = isStateless(call);
  const makesTask = isModern ? knowsTasks(call) : call.params.has('task');
  return makesTask
    ? { ...resolved, remembered: { kind: isModern ? 'public_task' : 'task' } }
    : resolved;
};

/** Finds the server of the requested resource, and makes the edits that set the server's own URI. */
function findResource(call: Call, needs: MethodNeeds) {
  const { span, text } = requireString(call, call.params, 'uri', 'params.uri');
  const found = needs.clients.offeringFor(call).catalog.findResource(text);
  if (!found)
    throw new RpcError(
      // MCP 2026-07-28 has no separate code for an unknown resource.
      isStateless(call) ? rpcCodes.invalidParams : rpcCodes.resourceNotFound,
      'HUB_NAME_UNKNOWN',
      `no server lists the resource ${JSON.stringify(text)} or a template for it`,
      { uri: text },
    );
  const edits = found.uri === text ? noEdits : [{ span, text: JSON.stringify(found.uri) }];
  return { ...found, publicUri: text, edits };
}

/** Finds the resource that a session is subscribed to under this URI, even if no server lists it; else any resource. */
function findSubscribed(call: Call, needs: MethodNeeds): Resource {
  const { span, text } = requireString(call, call.params, 'uri', 'params.uri');
  const known = needs.subscriptions.find(call.session, text);
  if (!known) return findResource(call, needs);
  const { uri } = known;
  const edits = uri === text ? noEdits : [{ span, text: JSON.stringify(uri) }];
  return { server: needs.clients.baseOf(known.server), uri, publicUri: text, edits };
}

const read: Method = (call, needs) => {
  const { server, uri, publicUri, edits } = findResource(call, needs);
  const isScoped = isStateless(call) && needs.access.isRestricted(call.principal);
  const scoped = isScoped ? asPrivate : undefined;
  const restored =
    uri === publicUri
      ? scoped
      : (bytes: Buffer) => withUri(scoped?.(bytes) ?? bytes, uri, publicUri);
  return callTo(server, call, { edits, name: publicUri, restored });
};

/** Methods of the endpoint of all servers, for clients with and without a session. */
const shared = [
  ['tools/list', list('tool')],
  ['resources/list', list('resource')],
  ['resources/templates/list', list('template')],
  ['prompts/list', list('prompt')],
  ['tools/call', callTool],
  ['prompts/get', byName('prompt')],
  ['resources/read', read],
  ['completion/complete', completeAtAny],
] as const;

/** Methods of the endpoint of all servers for clients with a session, by name. */
const methodsOfAll: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...shared,
  ['initialize', initializeAll],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', (call, needs) => subscribeAt(call, findResource(call, needs), needs)],
  [
    'resources/unsubscribe',
    (call, needs) => unsubscribeAt(call, findSubscribed(call, needs), false, needs),
  ],
  ...tasksOfAll,
]);

/** Methods of sessions, which MCP 2026-07-28 removed. They are refused at every endpoint, whatever the server has. */
const removedMethods = [
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
].map((name): readonly [string, Method] => [
  name,
  () => {
    throw methodNotFound(`MCP 2026-07-28 has no method ${JSON.stringify(name)}`);
  },
]);

/** Methods of the endpoint of all servers for clients without a session (MCP 2026-07-28). */
const modernMethodsOfAll: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...shared,
  ['server/discover', discoverAll],
  ['subscriptions/listen', listenAll],
  ...modernTasksOfAll,
  ...removedMethods,
]);

/** Replaces a URI in the answer to `resources/read`: in the contents, and in the error for an unknown resource. */
function withUri(bytes: Buffer, from: string, to: string): Buffer {
  const { payload, failed } = readAnswer(bytes);
  const members = membersOf(bytes, payload);
  const named = failed ? [members?.get('data')] : elementsOf(bytes, members?.get('contents'));
  const text = JSON.stringify(to);
  const edits = named.flatMap((object: Span | undefined): readonly Edit[] => {
    const span = membersOf(bytes, object)?.get('uri');
    return span && stringAt(bytes, span) === from ? [{ span, text }] : [];
  });
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** Returns the resource in a request; undefined if its URI is not a string, which the server refuses. */
function resourceOfOne(call: Call): Resource | undefined {
  const uri = stringAt(call.request.bytes, call.params.get('uri'));
  const server = serverOf(call);
  return uri === undefined ? undefined : { server, uri, publicUri: uri, edits: noEdits };
}

const subscribeOne: Method = (call, needs) => {
  const resource = resourceOfOne(call);
  return resource ? subscribeAt(call, resource, needs) : pass(call, needs);
};

const unsubscribeOne: Method = (call, needs) => {
  const resource = resourceOfOne(call);
  return resource ? unsubscribeAt(call, resource, true, needs) : pass(call, needs);
};

/** Methods that the endpoint of one server does not simply forward, for clients with a session. */
const methodsOfOne = new Map<string, Method>([
  ...itemMethodsOfOne,
  ['completion/complete', completeAtOne],
  ['initialize', initializeOne],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribeOne],
  ['resources/unsubscribe', unsubscribeOne],
  ...tasksOfOne,
]);

/** The same for clients without a session (MCP 2026-07-28). */
const modernMethodsOfOne = new Map<string, Method>([
  ...itemMethodsOfOne,
  ['completion/complete', completeAtOne],
  ['server/discover', discoverOne],
  ['subscriptions/listen', listenOne],
  ...modernTasksOfOne,
  ...removedMethods,
]);
