import type { Naming } from '#config';
import { setBounded } from '#core';
import { membersOf, valueOf } from '#jsonrpc';
import { type Decision, type Policy, type UsedItem, hintsOf, unmatched } from '#policy';
import { type ListKind, type Server, type Servers, listKinds, listMethods } from '#servers';
import type { AccessSource } from './access-rules.ts';
import type { Catalog, CatalogEntry } from './catalog.ts';
import { assignNames } from './names.ts';
import type { Endpoint } from './session.ts';
import type { Task } from './tasks/tasks.ts';
import { prefixOf } from './template-matches.ts';
import { spellingsOf } from './uri-spellings.ts';

/** A decision of the policy, and the item that it is about. */
export type Decided = { readonly decision: Decision; readonly item?: UsedItem };

/** The client, the method and the policy of a decision. */
type Asked = {
  readonly policy: Policy;
  /** The policy name of the principal. */
  readonly client: string;
  readonly method: string;
};

/** The method that uses an item of each kind of list. */
export const useMethods: Readonly<Record<ListKind, string>> = {
  tool: 'tools/call',
  resource: 'resources/read',
  template: 'resources/read',
  prompt: 'prompts/get',
};

/** Cached decisions about one item. */
type EntryDecisions = {
  /** Decisions by client, and then by method. */
  readonly byClient: Map<string, Map<string, Decided>>;
  /** The last decision: consecutive calls of a tool mostly come from one client. */
  last: { readonly client: string; readonly method: string; readonly decided: Decided } | undefined;
};

/** Whether clients may use an item of a server, by policy, server and client; undefined: the server has no items. */
type ServerUses = WeakMap<Policy, WeakMap<Server, Map<string, boolean | undefined>>>;

/** Maximum number of clients with cached decisions about one item or server. */
const maxClients = 1_000;

export type ItemDecisions = ReturnType<typeof createItemDecisions>;

/** Decides about items of the catalog, and about items that their servers do not list. */
export function createItemDecisions({
  source,
  servers,
  naming,
  findTool,
}: {
  readonly source: Pick<AccessSource, 'toolsOf'>;
  readonly servers: Pick<Servers, 'all'>;
  readonly naming: () => Naming;
  /** Finds a tool by its public name. */
  readonly findTool: (name: string) => CatalogEntry | undefined;
}) {
  /** Decisions by policy and item. The catalog replaces an entry when its list changes. */
  const caches = new WeakMap<Policy, WeakMap<CatalogEntry, EntryDecisions>>();
  /** Uses of servers by the items of one kind. The catalog replaces a list that changes. */
  const serverUses = new WeakMap<readonly CatalogEntry[], ServerUses>();
  /** The policy and the item of the last decision. A look-up in a weak map costs more than a decision. */
  let newest:
    | { readonly policy: Policy; readonly entry: CatalogEntry; readonly found: EntryDecisions }
    | undefined;

  function decisionsOf(policy: Policy, entry: CatalogEntry): EntryDecisions {
    if (newest?.policy === policy && newest.entry === entry) return newest.found;
    let cache = caches.get(policy);
    if (!cache) caches.set(policy, (cache = new WeakMap()));
    let found = cache.get(entry);
    if (!found) cache.set(entry, (found = { byClient: new Map(), last: undefined }));
    newest = { policy, entry, found };
    return found;
  }

  function decideEntry(
    { policy, client, method }: Asked,
    kind: ListKind,
    entry: CatalogEntry,
  ): Decided {
    const ofEntry = decisionsOf(policy, entry);
    const { last } = ofEntry;
    if (last?.client === client && last.method === method) return last.decided;
    let ofClient = ofEntry.byClient.get(client);
    if (!ofClient) setBounded(ofEntry.byClient, client, (ofClient = new Map()), maxClients);
    let decided = ofClient.get(method);
    if (!decided) {
      const server = entry.server.config.name;
      const item = itemOf(kind, entry);
      decided = { decision: policy.decide({ method, server, item }, client), item };
      ofClient.set(method, decided);
    }
    ofEntry.last = { client, method, decided };
    return decided;
  }

  /** Returns an item that its server does not list. A tool without a description has the default hints of MCP. */
  function unlisted(server: Server, kind: ListKind, name: string, description?: Buffer): UsedItem {
    const isNamed = kind === 'tool' || kind === 'prompt';
    const wishes = [{ server: server.config.name, name }];
    const names = servers.all.map(({ config }) => config.name);
    const publicName = isNamed ? assignNames(wishes, names, naming()).names[0] : undefined;
    return {
      kind,
      name: publicName ?? name,
      ownName: (kind === 'tool' && ownToolName(server, name, undefined)) || name,
      hints: () => hintsIn(description),
    };
  }

  /** Returns the server's own name of a tool on its endpoint; undefined if the config gives the tool another name. */
  function ownToolName(server: Server, shown: string, entry: CatalogEntry | undefined) {
    if (entry) return entry.name;
    const rename = source.toolsOf(server.config.name)?.rename ?? {};
    const [own] = Object.entries(rename).find(([, wanted]) => wanted === shown) ?? [];
    return own ?? (Object.hasOwn(rename, shown) ? undefined : shown);
  }

  /**
   * Decides about a URI that no server lists: by each way to write the URI, then by the templates that match one of
   * these.
   */
  function decideUri(
    asked: Asked,
    server: Server,
    uri: string,
    template: CatalogEntry | undefined,
    catalog: Catalog,
  ): Decided {
    const { policy, client, method } = asked;
    const item = unlisted(server, 'resource', uri);
    const prefix = template ? prefixOf(template) : '';
    const spellings = spellingsOf(uri);
    // In another spelling, the prefix on /mcp of the resource or template is unknown.
    const prefixes = [...new Set([prefix, `${server.config.name}+`])];
    const decisions = spellings.flatMap(ownName =>
      prefixes.map(one => {
        const spelled = { ...item, name: `${one}${ownName}`, ownName };
        return policy.decide({ method, server: server.config.name, item: spelled }, client);
      }),
    );
    const byTemplate = () => {
      const others = spellings.flatMap(other => catalog.templatesAt(server, other));
      return strictest(
        [...(template ? [template] : []), ...others].map(
          one => decideEntry(asked, 'template', one).decision,
        ),
      );
    };
    const decision = strictest(decisions) ?? byTemplate() ?? unmatched;
    return { decision, item: { ...item, name: `${prefix}${uri}` } };
  }

  /** Decides about a URI as the endpoint names it. Undefined if no server has such a resource. */
  function decideResource(
    asked: Asked,
    endpoint: Endpoint,
    uri: string,
    catalog: Catalog,
  ): Decided | undefined {
    if (endpoint !== 'all')
      return decideUri(asked, endpoint, uri, catalog.findTemplateAt(endpoint, uri), catalog);
    const found = catalog.findResource(uri);
    return found && decideUri(asked, found.server, found.uri, found.entry, catalog);
  }

  /** True if the lists contain an item: the item is allowed, and so is one of the tools that it calls. */
  function isListed(policy: Policy, client: string, kind: ListKind, entry: CatalogEntry): boolean {
    const isAllowed = listingMethods(kind).every(
      method => decideEntry({ policy, client, method }, kind, entry).decision.action !== 'deny',
    );
    if (!isAllowed || !entry.calls) return isAllowed;
    return entry.calls.some(name => {
      const called = findTool(name);
      return called !== undefined && called !== entry && isListed(policy, client, 'tool', called);
    });
  }

  /** Like `mayUseAny`, for the items of one kind. */
  function mayUseAnyOf(
    policy: Policy,
    client: string,
    server: Server,
    kind: ListKind,
    list: readonly CatalogEntry[],
  ): boolean | undefined {
    let ofList = serverUses.get(list);
    if (!ofList) serverUses.set(list, (ofList = new WeakMap()));
    let ofPolicy = ofList.get(policy);
    if (!ofPolicy) ofList.set(policy, (ofPolicy = new WeakMap()));
    let ofServer = ofPolicy.get(server);
    if (!ofServer) ofPolicy.set(server, (ofServer = new Map()));
    if (ofServer.has(client)) return ofServer.get(client);
    const entries = list.filter(entry => entry.server === server);
    const mayUse =
      entries.length === 0
        ? undefined
        : entries.some(entry => isListed(policy, client, kind, entry));
    setBounded(ofServer, client, mayUse, maxClients);
    return mayUse;
  }

  return {
    isListed,
    /**
     * True if a client may use an item of a server; undefined if the server has no items. In constant time after the
     * first question, because a server may send any number of messages.
     */
    mayUseAny(
      policy: Policy,
      client: string,
      server: Server,
      catalog: Catalog,
    ): boolean | undefined {
      const found = listKinds.map(kind =>
        mayUseAnyOf(policy, client, server, kind, catalog.list(kind)),
      );
      return found.includes(true) || (found.includes(false) ? false : undefined);
    },
    /** True if the lists of a server contain an item that is not in the catalog. */
    isShown(
      policy: Policy,
      client: string,
      server: Server,
      kind: ListKind,
      own: string,
      description: Buffer,
    ): boolean {
      const use = { server: server.config.name, item: unlisted(server, kind, own, description) };
      return listingMethods(kind).every(
        method => policy.decide({ ...use, method }, client).action !== 'deny',
      );
    },
    ownToolName,
    /**
     * Decides about an item by its name on an endpoint, including items that the server does not list. Undefined if no
     * server of the endpoint has such an item.
     */
    decideNamed(
      asked: Asked,
      endpoint: Endpoint,
      kind: ListKind,
      name: string,
      catalog: Catalog,
    ): Decided | undefined {
      const isAll = endpoint === 'all';
      const entry = isAll ? catalog.find(kind, name) : catalog.findAt(endpoint, kind, name);
      if (entry) return decideEntry(asked, kind, entry);
      // The reference of a completion may be a resource that its server does not list.
      if (kind === 'resource' || kind === 'template')
        return decideResource(asked, endpoint, name, catalog);
      if (isAll) return undefined;
      const item = unlisted(endpoint, kind, name);
      const use = { method: asked.method, server: endpoint.config.name, item };
      return { decision: asked.policy.decide(use, asked.client), item };
    },
    /** Decides about a task by the tool that works on the task. */
    decideTask(asked: Asked, { server, tool }: Task, catalog: Catalog): Decided {
      const entry = tool === undefined ? undefined : catalog.findOwn(server, 'tool', tool);
      if (entry) return decideEntry(asked, 'tool', entry);
      const item = tool === undefined ? undefined : unlisted(server, 'tool', tool);
      const { method, policy, client } = asked;
      const use = { method, server: server.config.name, item, isHousekeeping: !item };
      return { decision: policy.decide(use, client), ...(item && { item }) };
    },
  };
}

/** Returns the first decision that denies, else the first that a rule made. */
export const strictest = (decisions: readonly Decision[]): Decision | undefined =>
  decisions.find(({ action }) => action === 'deny') ?? decisions.find(one => one !== unmatched);

/** Methods that must be allowed for an item to be listed: the list method, and the method that uses the item. */
const listingMethods = (kind: ListKind) => [listMethods[kind].method, useMethods[kind]];

const itemOf = (kind: ListKind, { publicName, name, bytes }: CatalogEntry): UsedItem => ({
  kind,
  name: publicName,
  ownName: name,
  hints: () => hintsIn(bytes),
});

function hintsIn(description: Buffer | undefined) {
  if (!description) return hintsOf(undefined);
  const members = membersOf(description, { start: 0, end: description.length });
  return hintsOf(valueOf(description, members?.get('annotations')));
}
