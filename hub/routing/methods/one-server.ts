import { HubError } from '#core';
import {
  type Edit,
  createLookalikes,
  elementsOf,
  encodeResult,
  membersOf,
  rawText,
  readAnswer,
  setMembers,
  splice,
  stringAt,
} from '#jsonrpc';
import { isStateless } from '#mcp';
import { type ListKind, listMethods } from '#servers';
import { asPrivate, completeResult } from '../bridge/results.ts';
import {
  type Call,
  type Reply,
  type ResolvedCall,
  callTo,
  hubReply,
  invalidRequest,
  ownCall,
  requireString,
} from '../call.ts';
import { renamedTool } from '../tool-names.ts';
import { type Method, type MethodNeeds, serverOf } from './method.ts';
import { knowsTasks } from './tasks.ts';

/** Returns the error for an unknown tool or prompt. MCP requires the code "invalid params". */
export const unknownName = (kind: ListKind, name: string) =>
  new HubError(
    'HUB_NAME_UNKNOWN',
    `no ${kind} is called ${JSON.stringify(name)}. Its server may not have been started yet: "agenthub list" shows their states`,
  );

/** Forwards a call to the server, also if the hub does not know the method. */
export const pass: Method = call => {
  const makesTask = call.params.has('task') && !isStateless(call);
  if (makesTask && call.session.isSessionless)
    throw invalidRequest(
      '"params.task": a task outlives its request, and this request has no session to ask for it. Leave "task" out, or open a session at the server',
    );
  return callTo(serverOf(call), call, { remembered: makesTask ? { kind: 'task' } : undefined });
};

/**
 * Forwards a tool call. If the config renames tools of the server, the server gets the name that it gave the tool
 * itself. The policy decides by the tool about a task that the call creates.
 */
const callToolOfOne: Method = (call, needs) => {
  const passed = pass(call, needs);
  const resolved: ResolvedCall =
    isStateless(call) && knowsTasks(call)
      ? { ...passed, remembered: { kind: 'public_task' } }
      : passed;
  const server = serverOf(call);
  if (!needs.access.toolsOf(server.config.name)?.rename) return resolved;
  const { span, text } = requireString(call, call.params, 'name', 'params.name');
  const { catalog } = needs.clients.offeringFor(call);
  const own = needs.access.ownToolName(server, text, catalog);
  if (own === undefined) throw unknownName('tool', text);
  return own === text
    ? resolved
    : { ...resolved, name: text, edits: [{ span, text: JSON.stringify(own) }] };
};

/**
 * Forwards a list request. Leaves out items that the client may not use, and renames tools by the config. A client that
 * may use nothing of the server gets an empty list from the hub: the server neither starts for it, nor counts it as one
 * of its clients.
 */
const listOfOne =
  (kind: ListKind): Method =>
  (call, needs) => {
    if (!needs.access.mayUseServer(call, serverOf(call)))
      return ownCall(call, () => emptyList(call, kind), serverOf(call));
    const resolved = pass(call, needs);
    const isEdited =
      kind === 'tool' && needs.access.toolsOf(serverOf(call).config.name) !== undefined;
    const isPinned = (kind === 'tool' || kind === 'prompt') && serverOf(call).mayHold === true;
    if (!isEdited && !isPinned && !needs.access.isRestricted(call.principal)) return resolved;
    return { ...resolved, restored: bytes => editList(bytes, kind, call, needs) };
  };

function emptyList(call: Call, kind: ListKind): Reply {
  const list = { [listMethods[kind].member]: [] };
  const result = isStateless(call)
    ? completeResult(list, { ttlMs: 0, cacheScope: 'private' })
    : JSON.stringify(list);
  return hubReply(encodeResult(call.id, result));
}

function editList(bytes: Buffer, kind: ListKind, call: Call, needs: MethodNeeds): Buffer {
  const { access, clients } = needs;
  const server = serverOf(call);
  const { payload, failed } = readAnswer(bytes);
  if (failed) return bytes;
  const { method, member, key } = listMethods[kind];
  const members = membersOf(bytes, payload);
  const span = members?.get(member);
  const isUnlike = createLookalikes([member]);
  // With a duplicate or similar member such as `Tools`, the client could read a list that the hub did not filter.
  if (!members || !span || [...members.keys()].some(name => isUnlike(name) !== undefined))
    throw new HubError(
      'HUB_SERVER_PROTOCOL',
      `${server.config.name} answered ${method} without "${member}", or with a member that stands twice`,
      { data: { server: server.config.name, method } },
    );
  const { catalog } = clients.offeringFor(call);
  const settings = kind === 'tool' ? access.toolsOf(server.config.name) : undefined;
  const items = elementsOf(bytes, span).flatMap(item => {
    const own = stringAt(bytes, membersOf(bytes, item)?.get(key));
    const text = bytes.subarray(item.start, item.end);
    // An item without a name cannot be used.
    if (own === undefined || !access.showsAt(call, server, kind, own, text)) return [];
    if ((kind === 'tool' || kind === 'prompt') && server.holds?.(kind, own, text)) return [];
    if (!settings) return [rawText(bytes, item)];
    const shown = catalog.findOwn(server, kind, own)?.shownName ?? own;
    return [renamedTool(text, own, shown, settings).toString()];
  });
  const list: Edit = { span, text: `[${items.join(',')}]` };
  const isShared = access.isRestricted(call.principal) && members.has('cacheScope');
  const scope = isShared ? setMembers(payload, members, { cacheScope: '"private"' }) : [];
  return splice(bytes, [list, ...scope]);
}

const readOfOne: Method = (call, needs) => {
  const resolved = pass(call, needs);
  return isStateless(call) && needs.access.isRestricted(call.principal)
    ? { ...resolved, restored: asPrivate }
    : resolved;
};

/** Methods that are forwarded with the server's own names, and whose answers are filtered by the policy. */
export const itemMethodsOfOne: readonly (readonly [string, Method])[] = [
  ['tools/call', callToolOfOne],
  ['tools/list', listOfOne('tool')],
  ['resources/list', listOfOne('resource')],
  ['resources/read', readOfOne],
  ['resources/templates/list', listOfOne('template')],
  ['prompts/list', listOfOne('prompt')],
];
