import type { Naming, ToolSettings } from '#config';
import { type Event, createEmitter } from '#core';
import { membersOf, splice } from '#jsonrpc';
import {
  type Fault,
  type Item,
  type ListKind,
  type Server,
  type Servers,
  isSameItem,
  listKinds,
  listMethods,
} from '#servers';
import { type Collision, assignNames, assignUris, reservedNames } from './names.ts';
import { createTemplateMatches, prefixOf } from './template-matches.ts';
import { renameTools, renamedTool } from './tool-names.ts';

/** A tool, resource, template or prompt on the endpoint of all servers. */
export type CatalogEntry = {
  readonly server: Server;
  /** The name that the server itself gives the item. */
  readonly name: string;
  /** The name on the endpoint of its server. For a tool, the config may change it. */
  readonly shownName: string;
  readonly publicName: string;
  /** The item as the server describes it, in JSON, with the public name instead of the server's own. */
  readonly bytes: Buffer;
  /** The item as JSON for clients of 2025-11-25 and older, if it differs. */
  readonly legacyBytes?: Buffer;
  /** Why some revisions refuse the item. It is missing in the lists of their clients, but works by its name. */
  readonly faults?: readonly Fault[];
  /** True if the definition is not the accepted one: no list contains the item, and calls of it are refused. */
  readonly isHeld?: boolean;
  /** True if lists show the item only with the administer grant. The server refuses calls without that grant. */
  readonly isAdministrative?: boolean;
  /** Public names of the tools that this item calls. Lists have the item only for clients that see one of them. */
  readonly calls?: readonly string[];
};

/** The names and descriptions that the config gives tools. */
export type ToolSource = {
  readonly toolsOf: (server: string) => ToolSettings | undefined;
  readonly changed: Event<{ readonly servers: readonly string[] }>;
};

/** Holds the items of all servers, under unique names. */
export type Catalog = ReturnType<typeof createCatalog>;

type Section = {
  readonly entries: readonly CatalogEntry[];
  readonly byName: ReadonlyMap<string, CatalogEntry>;
  readonly collisions: readonly Collision[];
  /** The items of each server by one of their names. Built at first use. */
  readonly byServer: Partial<Record<'name' | 'shownName', ByServer>>;
};

type ByServer = ReadonlyMap<Server, ReadonlyMap<string, CatalogEntry>>;

const noSettings: ToolSettings = { path: '' };

/**
 * Creates a catalog of the servers' current lists, until it is disposed.
 * `offersOf` returns the source of a server's lists: the server itself, or the instance that serves a session.
 */
export function createCatalog(
  servers: Pick<Servers, 'all' | 'changed'>,
  naming: () => Naming,
  offersOf: (server: Server) => Pick<Server, 'listing' | 'listed'> = server => server,
  tools?: ToolSource,
) {
  const changed = createEmitter<ListKind>();
  const sections = new Map<ListKind, Section>();
  let templates = createTemplateMatches<CatalogEntry>([]);

  function build(kind: ListKind): void {
    // Uses the order of servers in the config, so that the names are the same after every restart.
    const collisions: Collision[] = [];
    const offers = servers.all.flatMap(server => {
      const { name } = server.config;
      const items = firstOfEach(offersOf(server).listing[kind]);
      const settings = kind === 'tool' ? tools?.toolsOf(name) : undefined;
      const renamed =
        settings &&
        renameTools(
          items.map(({ key }) => key),
          settings,
        );
      for (const { name: own, wanted } of renamed?.taken ?? [])
        collisions.push({ server: name, name: own, wanted, publicName: own });
      return items.map(item => {
        const shownName = renamed?.names.get(item.key) ?? item.key;
        return { server, item, shownName, settings: settings ?? noSettings };
      });
    });
    const wishes = offers.map(({ server, shownName, item: { publicName } }) => ({
      server: server.config.name,
      name: shownName,
      publicName,
    }));
    const serverNames = servers.all.map(({ config }) => config.name);
    const named =
      kind === 'tool' || kind === 'prompt'
        ? assignNames(wishes, serverNames, naming(), reservedNames[kind])
        : assignUris(wishes);
    const entries = offers.map(({ server, item, shownName, settings }, index): CatalogEntry => {
      const publicName = named.names[index] ?? item.key;
      const { key, bytes, legacyBytes, faults, isHeld, isAdministrative, calls } = item;
      const publicly = (one: Buffer) =>
        kind === 'tool'
          ? renamedTool(one, key, publicName, settings)
          : renamed(kind, key, one, publicName);
      return {
        server,
        name: key,
        shownName,
        publicName,
        bytes: publicly(bytes),
        ...(legacyBytes && { legacyBytes: publicly(legacyBytes) }),
        ...(faults && { faults }),
        ...(isHeld && { isHeld }),
        ...(isAdministrative && { isAdministrative }),
        ...(calls && { calls }),
      };
    });
    sections.set(kind, {
      entries,
      byName: new Map(entries.map(entry => [entry.publicName, entry])),
      collisions: [...collisions, ...named.collisions],
      byServer: {},
    });
    if (kind === 'template') templates = createTemplateMatches(entries);
  }

  const hear = () =>
    servers.all.map(server =>
      offersOf(server).listed(kind => {
        build(kind);
        changed.fire(kind);
      }),
    );

  for (const kind of listKinds) build(kind);
  let heard = hear();
  const serversHeard = servers.changed(() => {
    for (const one of heard) one[Symbol.dispose]();
    heard = hear();
    for (const kind of listKinds) rebuild(kind);
  });
  const toolsHeard = tools?.changed(change => {
    if (change.servers.length > 0) rebuild('tool');
  });

  function rebuild(kind: ListKind): void {
    const before = sections.get(kind)?.entries ?? [];
    build(kind);
    if (!sameEntries(before, sections.get(kind)?.entries ?? [])) changed.fire(kind);
  }

  const find = (kind: ListKind, publicName: string) => sections.get(kind)?.byName.get(publicName);

  const findBy =
    (key: 'name' | 'shownName') =>
    (server: Server, kind: ListKind, name: string): CatalogEntry | undefined => {
      const section = sections.get(kind);
      if (!section) return undefined;
      section.byServer[key] ??= byServerOf(section.entries, key);
      return section.byServer[key].get(server)?.get(name);
    };

  return {
    changed: changed.event,
    list: (kind: ListKind) => sections.get(kind)?.entries ?? [],
    find,
    /** Finds an item of a server by its name on the server's own endpoint. */
    findAt: findBy('shownName'),
    /** Finds an item of a server by the name that the server itself gives it. */
    findOwn: findBy('name'),
    /** Finds the first template of a server that matches the server's own URI. */
    findTemplateAt: (server: Server, uri: string): CatalogEntry | undefined =>
      templates.at(server, uri).first,
    /**
     * Returns the templates of a server that its own URI may belong to: the first that matches, and those before it
     * that are too costly to match.
     */
    templatesAt: (server: Server, uri: string): readonly CatalogEntry[] =>
      templates.at(server, uri).possible,
    /**
     * Finds the server that lists a resource, else the first server with a template that matches. `entry`: the
     * resource or template.
     */
    findResource(
      uri: string,
    ): { readonly server: Server; readonly uri: string; readonly entry: CatalogEntry } | undefined {
      const listed = find('resource', uri);
      if (listed) return { server: listed.server, uri: listed.name, entry: listed };
      const templated = templates.find(uri);
      if (!templated) return undefined;
      return {
        server: templated.server,
        uri: uri.slice(prefixOf(templated).length),
        entry: templated,
      };
    },
    /** Returns the public URI of a resource that a server lists under `uri`; undefined if it does not list it. */
    publicUriOf({ config }: Server, uri: string): string | undefined {
      // Tries the possible names in the order of `assignUris`.
      for (let publicUri = uri; ; publicUri = `${config.name}+${publicUri}`) {
        const entry = find('resource', publicUri);
        if (!entry) return undefined;
        if (entry.server.config === config && entry.name === uri) return publicUri;
      }
    },
    /** Names that two servers use or could use, shown to operators. */
    collisions: (): readonly Collision[] => [...sections.values()].flatMap(one => one.collisions),
    [Symbol.dispose]() {
      serversHeard[Symbol.dispose]();
      toolsHeard?.[Symbol.dispose]();
      for (const one of heard) one[Symbol.dispose]();
    },
  };
}

/**
 * Returns the first item of each name. If a server lists a name again, the same item is meant, and the time and the
 * names to keep many such items apart would grow with the square of their number.
 */
function firstOfEach(items: readonly Item[]): readonly Item[] {
  const names = new Set<string>();
  return items.filter(({ key }) => !names.has(key) && names.add(key));
}

/** True if both lists have the same items of the same servers under the same names, in the same order. */
export function sameEntries(
  before: readonly CatalogEntry[],
  after: readonly CatalogEntry[],
): boolean {
  return (
    before.length === after.length &&
    before.every((entry, index) => {
      const other = after[index];
      return other?.server === entry.server && isSameItem(entry, other);
    })
  );
}

/** Maps each server to its items by one of their names. If a name is listed twice, the first item has it. */
function byServerOf(entries: readonly CatalogEntry[], key: 'name' | 'shownName'): ByServer {
  const found = new Map<Server, Map<string, CatalogEntry>>();
  for (const entry of entries) {
    const ofServer = found.get(entry.server) ?? new Map<string, CatalogEntry>();
    found.set(entry.server, ofServer);
    if (!ofServer.has(entry[key])) ofServer.set(entry[key], entry);
  }
  return found;
}

/** Replaces the name in the JSON of an item by its public name. */
function renamed(kind: ListKind, key: string, bytes: Buffer, publicName: string): Buffer {
  if (publicName === key) return bytes;
  const span = membersOf(bytes, { start: 0, end: bytes.length })?.get(listMethods[kind].key);
  return span ? splice(bytes, [{ span, text: JSON.stringify(publicName) }]) : bytes;
}
