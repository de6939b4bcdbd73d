import { HubError } from '#core';
import {
  type Edit,
  RpcError,
  encodeResult,
  latestVersion,
  membersOf,
  modernVersion,
  rpcCodes,
} from '#rpc';
import type { ListKind } from '#servers';
import { type Call, needString } from '../call.ts';
import type { Catalog, Entry } from '../catalog.ts';
import { completeResult } from '../dress.ts';
import { relayBetter } from '../improve.ts';
import type { Method, MethodNeeds } from '../method.ts';
import { type Offering, serversUri } from '../offering.ts';
import { answerOwn } from '../own-enhance.ts';
import { ownNames } from '../own-items.ts';
import { relay } from '../relay.ts';
import { inPayload } from '../task-messages.ts';
import type { Task } from '../tasks.ts';
import { withUri } from '../uris.ts';
import { discoverAll, initializeAll, ping, setLevel } from './hub.ts';
import { listenAll } from './listen.ts';
import { subscribeAt, unsubscribeAt } from './subscribe.ts';
import { knowsTasks, modernTasksOfAll, tasksOfAll } from './tasks.ts';

/** What the client of a call finds: what everybody finds, unless its own instances offer something else. */
const offeringFor = (call: Call, needs: MethodNeeds): Offering =>
  needs.ownOfferingOf(call) ?? needs;

const catalogFor = (call: Call, needs: MethodNeeds): Catalog => offeringFor(call, needs).catalog;

/** What MCP asks for where a tool or prompt is unknown: invalid params. */
const unknownName = (kind: ListKind, name: string) =>
  new HubError(
    'HUB_NAME_UNKNOWN',
    `no ${kind} is called ${JSON.stringify(name)}. Its server may not have been started yet: GET /servers shows their states`,
  );

/** The hub's own answer to a call by a name that no server has. */
function answerSelf(kind: ListKind, name: string, call: Call, needs: MethodNeeds): Promise<Buffer> {
  const answered = answerOwn(kind, name, call, needs.prompts);
  if (answered) return answered;
  throw unknownName(kind, name);
}

function needResource(needs: MethodNeeds, uri: string, call: Call) {
  const found = catalogFor(call, needs).findResource(uri);
  if (!found)
    throw new RpcError(
      // MCP 2026-07-28 has no code of its own for it.
      call.era === 'modern' ? rpcCodes.invalidParams : rpcCodes.resourceNotFound,
      'HUB_NAME_UNKNOWN',
      `no server lists the resource ${JSON.stringify(uri)} or a template for it`,
      { uri },
    );
  return found;
}

/** A session that is not greeted is refused before it comes here. */
const revisionOf = ({ era, session }: Call) =>
  era === 'modern' ? modernVersion : (session.protocolVersion ?? latestVersion);

const list =
  (kind: ListKind): Method =>
  (call, needs) => {
    const { lists } = offeringFor(call, needs);
    const cursor = call.params.has('cursor')
      ? needString(call, call.params, 'cursor', 'params.cursor').text
      : undefined;
    const answer = () => lists.answer(kind, cursor, call.id, revisionOf(call));
    return lists.freshen(kind)?.then(answer) ?? answer();
  };

/** Tools and prompts are called by their public names and known to their servers by their own. */
const byName =
  (kind: ListKind): Method =>
  (call, needs) => {
    const { span, text } = needString(call, call.params, 'name', 'params.name');
    const entry = catalogFor(call, needs).find(kind, text);
    if (!entry) return answerSelf(kind, text, call, needs);
    const edits = entry.name === text ? [] : [{ span, text: JSON.stringify(entry.name) }];
    return send(kind, call, edits, entry, needs);
  };

/** Only where a rule names anything, calls are looked at for prompts. */
const send = (
  kind: ListKind,
  call: Call,
  edits: readonly Edit[],
  entry: Entry,
  needs: MethodNeeds,
): Promise<Buffer> =>
  needs.prompts?.named === undefined
    ? relay(call, edits, entry.server, needs)
    : relayBetter(kind, call, edits, entry, needs);

const callByName = byName('tool');

/** A call that may make a task: which server has it is kept, for those that ask for it later. */
const callTool: Method = (call, needs) => {
  const { session, params, era } = call;
  const makesTask = era === 'modern' ? knowsTasks(call) : params.has('task');
  if (!makesTask) return callByName(call, needs);
  const { span, text } = needString(call, params, 'name', 'params.name');
  const entry = catalogFor(call, needs).find('tool', text);
  if (!entry) return answerSelf('tool', text, call, needs);
  const { server, name } = entry;
  let made: Task | undefined;
  call.seen = (answer, instance) => {
    made =
      era === 'modern'
        ? needs.tasks.route(server, answer)
        : needs.tasks.made(server, instance, answer, session);
  };
  return send('tool', call, [{ span, text: JSON.stringify(name) }], entry, needs).then(bytes =>
    made ? inPayload(bytes, made.taskId, made.publicId) : bytes,
  );
};

const isOwn = (call: Call) =>
  needString(call, call.params, 'uri', 'params.uri').text === serversUri;

/** Where the resource of a request is, and the edits by which its server knows it. */
function findResource(call: Call, needs: MethodNeeds) {
  const { span, text } = needString(call, call.params, 'uri', 'params.uri');
  const { server, uri } = needResource(needs, text, call);
  return { server, uri, text, edits: uri === text ? [] : [{ span, text: JSON.stringify(uri) }] };
}

const read: Method = (call, needs) => {
  if (isOwn(call)) {
    const snapshot = JSON.stringify(needs.snapshot());
    const result = {
      contents: [{ uri: serversUri, mimeType: 'application/json', text: snapshot }],
    };
    return encodeResult(
      call.id,
      call.era === 'modern'
        ? completeResult(result, { ttlMs: 0, cacheScope: 'private' })
        : JSON.stringify(result),
    );
  }
  const { server, uri, text, edits } = findResource(call, needs);
  const answered = relay(call, edits, server, needs);
  return edits.length === 0 ? answered : answered.then(bytes => withUri(bytes, uri, text));
};

const subscribe: Method = (call, needs) => {
  if (isOwn(call)) {
    needs.ownResource.subscribe(call.session);
    return encodeResult(call.id, '{}');
  }
  const { server, uri, text, edits } = findResource(call, needs);
  return subscribeAt(call, edits, { server, uri, publicUri: text }, needs);
};

const unsubscribe: Method = (call, needs) => {
  if (isOwn(call)) {
    needs.ownResource.unsubscribe(call.session);
    return encodeResult(call.id, '{}');
  }
  const { edits, ...resource } = findResource(call, needs);
  return unsubscribeAt(call, edits, resource, false, needs);
};

const complete: Method = async (call, needs) => {
  const ref = membersOf(call.request.bytes, call.params.get('ref'));
  const type = needString(call, ref, 'type', 'params.ref.type').text;
  if (type === 'ref/prompt') {
    const { span, text } = needString(call, ref, 'name', 'params.ref.name');
    const entry = catalogFor(call, needs).find('prompt', text);
    if (entry)
      return await relay(call, [{ span, text: JSON.stringify(entry.name) }], entry.server, needs);
    if (!needs.prompts?.isOffered || !ownNames.prompt.includes(text))
      throw unknownName('prompt', text);
    const nothing = { completion: { values: [] } };
    return encodeResult(
      call.id,
      call.era === 'modern' ? completeResult(nothing) : JSON.stringify(nothing),
    );
  }
  if (type !== 'ref/resource')
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `"params.ref.type" is ${JSON.stringify(type)}; it must be ref/prompt or ref/resource`,
    );
  const { span, text } = needString(call, ref, 'uri', 'params.ref.uri');
  const catalog = catalogFor(call, needs);
  const entry = catalog.find('template', text) ?? catalog.find('resource', text);
  if (!entry)
    throw new HubError('HUB_NAME_UNKNOWN', `no server has the template ${JSON.stringify(text)}`);
  return await relay(call, [{ span, text: JSON.stringify(entry.name) }], entry.server, needs);
};

/** What both kinds of clients ask the endpoint of all servers. */
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

/** What the endpoint of all servers answers to clients with a session, by method. */
export const methodsOfAll: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...shared,
  ['initialize', initializeAll],
  ['ping', ping],
  ['logging/setLevel', setLevel],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ...tasksOfAll,
]);

/** The same for those without one (MCP 2026-07-28). */
export const modernMethodsOfAll: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...shared,
  ['server/discover', discoverAll],
  ['subscriptions/listen', listenAll],
  ...modernTasksOfAll,
]);
