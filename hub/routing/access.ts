import type { Naming } from '#config';
import { membersOf, stringAt } from '#jsonrpc';
import {
  type Policy,
  type Principal,
  isHousekeeping,
  openMethods,
  policyNameOf,
  principalNamed,
  unmatched,
} from '#policy';
import { type ListKind, type Server, type Servers, listKinds } from '#servers';
import {
  type AccessRules,
  type AccessSource,
  createFindViews,
  createPolicies,
} from './access-rules.ts';
import { workerFor } from './bridge/bridge.ts';
import { type Answerer, type Call, type ResolvedCall, invalidRequest } from './call.ts';
import type { Catalog, CatalogEntry } from './catalog.ts';
import type { ClientInstances } from './client-instances.ts';
import { type PolicyQuestion, explain, refusal, rulesInForce } from './explain.ts';
import { ownTools } from './find/own-tools.ts';
import { type Decided, createItemDecisions } from './item-decisions.ts';
import type { ListView } from './lists.ts';
import { decideForeign, isForeign, kindOfMethod } from './method-rules.ts';
import type { Endpoint, SessionState } from './session.ts';
import type { Task, Tasks } from './tasks/tasks.ts';
import { isComparable } from './uri-spellings.ts';

/** Decides which principal may list and use which items. */
export type Access = ReturnType<typeof createAccess>;

type AccessNeeds = {
  readonly source: AccessSource;
  readonly clients: Pick<
    ClientInstances,
    'offeringFor' | 'offeringOf' | 'instanceFor' | 'shared' | 'baseOf'
  >;
  readonly servers: Pick<Servers, 'all'>;
  readonly tasks: Pick<Tasks, 'find' | 'routeAt'>;
  readonly naming: () => Naming;
  /** Whether profiles may be in find mode. Absent: false. */
  readonly finds?: boolean;
};

export function createAccess(needs: AccessNeeds) {
  const { source, clients, servers, tasks, naming } = needs;
  const findTool = (name: string) => clients.shared.catalog.find('tool', name);
  const decisions = createItemDecisions({ source, servers, naming, findTool });
  const policies = createPolicies(needs);
  const policyOf = (principal: Principal) => policies(principal, source.rules);
  const findViews = createFindViews(needs.finds);

  function taskOf({ request, params, session }: Call): Task | undefined {
    const isOfTask = request.method.startsWith('tasks/');
    const taskId = isOfTask ? stringAt(request.bytes, params.get('taskId')) : undefined;
    return taskId === undefined ? undefined : tasks.find(session, taskId);
  }

  /** Decides about a call; undefined if the call is open to everybody, or uses an item that does not exist. */
  function decide(policy: Policy, resolved: ResolvedCall): Decided | undefined {
    const { call } = resolved;
    const { method } = call.request;
    const { endpoint } = call.session;
    const usesItem = kindOfMethod.has(method);
    if (!usesItem && openMethods.has(method)) return undefined;
    const asked = { policy, client: policyNameOf(call.principal), method };
    const { catalog } = clients.offeringFor(call);
    const task = usesItem ? undefined : taskOf(call);
    if (task) return decisions.decideTask(asked, task, catalog);
    const named = namedIn(resolved, catalog);
    if (!named) {
      if (endpoint !== 'all' && isForeign(method))
        return { decision: decideForeign(asked, endpoint, catalog, decisions) };
      const server = (endpoint === 'all' ? resolved.server : endpoint)?.config.name;
      // A task that the hub does not know may be one of another client.
      const isOfUnknownTask = call.params.has('taskId') && endpoint !== 'all';
      const mayUse = !isOfUnknownTask || mayUseAny(call.principal, endpoint, catalog) !== false;
      const use = { method, server, isHousekeeping: mayUse && isHousekeeping(method) };
      return { decision: policy.decide(use, asked.client) };
    }
    if (named.name !== undefined)
      return decisions.decideNamed(asked, endpoint, named.kind, named.name, catalog);
    if (endpoint === 'all') return undefined;
    throw invalidRequest(`${method} needs "${named.key}" in its params, as a string`);
  }

  /** Returns the call with its decision, if there is a policy. The answer of a denied call is the refusal. */
  function decided(policy: Policy | undefined, resolved: ResolvedCall): ResolvedCall {
    const found = policy && decide(policy, resolved);
    if (!found || found.decision === unmatched) return resolved;
    const { decision, item } = found;
    policy.count(decision);
    // Only the call itself needs a confirmation. Other methods, such as `tasks/get`, refer to a call that had one.
    if (decision.action === 'confirm' && item && resolved.call.request.method === 'tools/call')
      return { ...resolved, decision, confirmed: { decision, item } };
    if (decision.action !== 'deny') return { ...resolved, decision };
    return { ...resolved, decision, answer: () => refusal(resolved.call, found, policy) };
  }

  /** True if a rule or a new name depends on items of a server that never ran, so that its lists are unread. */
  const isUnread = (server: Server, call: Call, policy: Policy | undefined): boolean =>
    (policy ?? source.toolsOf(server.config.name)?.rename) !== undefined &&
    listKinds.every(kind => server.listing[kind].length === 0) &&
    (kindOfMethod.has(call.request.method) || isForeign(call.request.method)) &&
    !clients.instanceFor(server, call).running;

  /** Returns the decision about a principal; true if the principal has no policy. */
  function permits(
    principal: Principal,
    decideBy: (policy: Policy, client: string) => boolean,
    rules = source.rules,
  ): boolean {
    const policy = policies(principal, rules);
    return !policy || decideBy(policy, policyNameOf(principal));
  }

  /** True if a list contains this item for a principal under these rules. */
  const isListedUnder = (
    rules: AccessRules,
    principal: Principal,
    kind: ListKind,
    entry: CatalogEntry,
  ): boolean =>
    permits(principal, (policy, client) => decisions.isListed(policy, client, kind, entry), rules);

  const mayUseUri = (
    principal: Principal,
    method: string,
    endpoint: Endpoint,
    uri: string,
    catalog: Catalog,
  ): boolean =>
    permits(principal, (policy, client) => {
      if (!isComparable(uri)) return false;
      const asked = { policy, client, method };
      const found = decisions.decideNamed(asked, endpoint, 'resource', uri, catalog);
      return found?.decision.action !== 'deny';
    });

  const mayGetTask = (principal: Principal, task: Task, catalog: Catalog): boolean =>
    permits(principal, (policy, client) => {
      const asked = { policy, client, method: 'tasks/get' };
      return decisions.decideTask(asked, task, catalog).decision.action !== 'deny';
    });

  /** True if a client may use an item of a server; undefined if the items of the server are unknown. */
  function mayUseAny(principal: Principal, server: Server, catalog: Catalog): boolean | undefined {
    const policy = policyOf(principal);
    return !policy || decisions.mayUseAny(policy, policyNameOf(principal), server, catalog);
  }

  return {
    /** Resolves a call and decides about it. `relay` sends it to its server. Throws HubError if it cannot decide. */
    guard(call: Call, resolve: (call: Call) => ResolvedCall, relay: Answerer): ResolvedCall {
      const resolved = resolve(call);
      const policy = policyOf(call.principal);
      const { endpoint } = call.session;
      if (endpoint === 'all' || !isUnread(endpoint, call, policy)) return decided(policy, resolved);
      return {
        ...resolved,
        async answer() {
          await workerFor(endpoint, call, clients);
          // The new lists, or a config that changed meanwhile, may give the name to another tool.
          const later = decided(policyOf(call.principal) ?? policy, resolve(call));
          const reply = await (later.answer ? later.answer() : relay(later));
          return later.decision ? { ...reply, decision: later.decision } : reply;
        },
      };
    },
    /** Returns the view of the lists for a principal; undefined if the principal sees every item. */
    viewOf(principal: Principal): ListView | undefined {
      const policy = policyOf(principal);
      if (!policy) return undefined;
      const client = policyNameOf(principal);
      const find = findViews(principal, source.rules);
      const shows = (kind: ListKind, entry: CatalogEntry) =>
        (kind !== 'tool' || find?.isPinned(entry.publicName) !== false) &&
        decisions.isListed(policy, client, kind, entry);
      return { policy, client, shows, ...(find && { ownTools }) };
    },
    /** Returns how a principal sees tools in find mode; undefined if it is not in find mode. */
    findOf: (principal: Principal, rules = source.rules) => findViews(principal, rules),
    /** True if the policy lets a principal list and call a tool. Find mode may leave it out of the list. */
    mayFind: (principal: Principal, entry: CatalogEntry): boolean =>
      isListedUnder(source.rules, principal, 'tool', entry),
    isListedUnder,
    /** True if a principal may get updates of a resource of a server or instance. `uri` is the server's own URI. */
    mayHear: (principal: Principal, server: Server, uri: string): boolean =>
      // Decided at the server: an instance may list resources that the shared catalog does not have.
      mayUseUri(
        principal,
        'resources/subscribe',
        clients.baseOf(server),
        uri,
        clients.shared.catalog,
      ),
    /** True if a client may read the resource that its endpoint names `uri`. */
    mayRead: (call: Call, uri: string): boolean =>
      mayUseUri(
        call.principal,
        'resources/read',
        call.session.endpoint,
        uri,
        clients.offeringFor(call).catalog,
      ),
    /** True if a client without a session may get updates of a task of a server. `taskId` is the server's own id. */
    mayHearTask: (principal: Principal, server: Server, taskId: string): boolean => {
      const { catalog } = clients.shared;
      const known = tasks.routeAt(server, taskId);
      if (!known && mayUseAny(principal, server, catalog) === false) return false;
      return mayGetTask(principal, known ?? { server, taskId, publicId: taskId }, catalog);
    },
    /** False if the client of a call may use no item of a server. True if the items are unknown. */
    mayUseServer: (call: Call, server: Server): boolean =>
      mayUseAny(call.principal, server, clients.offeringFor(call).catalog) !== false,
    /**
     * True if a session may get messages of a server that belong to none of its calls: about its task if it may use the
     * tool of the task, any other message if it may use an item of the server, or no rule denies a server whose items
     * are unknown.
     */
    mayHearFrom(session: Pick<SessionState, 'principal' | 'own'>, server: Server, task?: Task) {
      const { principal } = session;
      const { catalog } = clients.offeringOf(session);
      if (task) return mayGetTask(principal, task, catalog);
      const use = { method: 'logging/setLevel', server: server.config.name };
      return (
        mayUseAny(principal, server, catalog) ??
        permits(principal, (policy, client) => policy.decide(use, client).action !== 'deny')
      );
    },
    /** True if `tasks/list` may contain the task for this client. */
    mayListTask: (call: Call, task: Task): boolean =>
      mayGetTask(call.principal, task, clients.offeringFor(call).catalog),
    /** True if the list of a server shows a client an item, given by the server's own name and description. */
    showsAt: (
      call: Call,
      server: Server,
      kind: ListKind,
      own: string,
      description: Buffer,
    ): boolean =>
      permits(call.principal, (policy, client) => {
        const entry = clients.offeringFor(call).catalog.findOwn(server, kind, own);
        return entry
          ? decisions.isListed(policy, client, kind, entry)
          : decisions.isShown(policy, client, server, kind, own, description);
      }),
    /**
     * Returns the server's own name of a tool that its endpoint offers as `shown`; undefined if the config gives that
     * tool another name.
     */
    ownToolName: (server: Server, shown: string, catalog: Catalog): string | undefined =>
      decisions.ownToolName(server, shown, catalog.findAt(server, 'tool', shown)),
    toolsOf: source.toolsOf,
    /** Lists the rules in force, with the number of calls that each decided since the start of the hub. */
    rules: () => rulesInForce(source.rules.policy, clients.shared.catalog),
    explain: (question: PolicyQuestion) =>
      explain(
        question,
        policyOf(principalNamed(question.client)),
        clients.shared.catalog,
        decisions,
      ),
    /** True if a principal may see less than everything. */
    isRestricted: (principal: Principal): boolean => policyOf(principal) !== undefined,
  };
}

/** Returns the item that a call names, as its client knows it; undefined if its method uses no item. */
function namedIn({ call: { request, params }, name: known }: ResolvedCall, catalog: Catalog) {
  const { bytes, method } = request;
  const kind = kindOfMethod.get(method);
  if (known !== undefined && (kind === 'tool' || kind === 'prompt'))
    return { kind, key: 'name', name: known } as const;
  const key = kind === 'resource' ? 'uri' : 'name';
  if (kind) return { kind, key, name: stringAt(bytes, params.get(key)) } as const;
  if (method !== 'completion/complete') return undefined;
  const ref = membersOf(bytes, params.get('ref'));
  if (stringAt(bytes, ref?.get('type')) === 'ref/prompt')
    return { kind: 'prompt', key: 'ref.name', name: stringAt(bytes, ref?.get('name')) } as const;
  const name = stringAt(bytes, ref?.get('uri'));
  // The reference is a template or a resource. Templates take precedence, as in the resolution of calls.
  const isListed = catalog.find('resource', name ?? '') && !catalog.find('template', name ?? '');
  return { kind: isListed ? 'resource' : 'template', key: 'ref.uri', name } as const;
}
