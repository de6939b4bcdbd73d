import type { Naming } from '#config';
import { type Event, createEmitter } from '#core';
import { membersOf, splice } from '#jsonrpc';
import {
  type Fault,
  type Item,
  type ListKind,
  type Server,
  type Servers,
  listKinds,
  listMethods,
} from '#servers';
import { type Collision, assignNames, reservedNames } from './names.ts';
import { type Budget, type Matcher, matcherOf } from './uri-template.ts';

/** One thing on the endpoint of all servers. */
export type Entry = {
  readonly server: Server;
  /** The server's own name for it. */
  readonly name: string;
  readonly publicName: string;
  /** Its description, with the public name in it and all else as the server wrote it. */
  readonly bytes: Buffer;
  /** The same for clients of the revisions before 2026-07-28, where it must be another. */
  readonly legacyBytes?: Buffer;
  /** Clients of the revisions that refuse it are not listed it. Whoever knows its name may use it. */
  readonly faults?: readonly Fault[];
  /** Only principals with the administer grant are listed it. Its server refuses all others. */
  readonly isAdministrative?: boolean;
};

/** What all servers offer, under names that cannot collide. */
export interface Catalog extends Disposable {
  /** Fires with the kind of list that is not what it was. */
  readonly changed: Event<ListKind>;
  list(kind: ListKind): readonly Entry[];
  find(kind: ListKind, publicName: string): Entry | undefined;
  /** Who answers for a resource: the one that lists it, else the first with a template for it. */
  findResource(uri: string): { readonly server: Server; readonly uri: string } | undefined;
  /** The URI of a resource here that a server lists under this one; undefined where it lists no such. */
  publicUriOf(server: Server, uri: string): string | undefined;
  /** Names that two servers wanted or could want, for the operator. */
  collisions(): readonly Collision[];
}

/**
 * What one read of a URI that nobody lists may cost in matching it with the templates of a server, of
 * which there may be a thousand: some tenths of a millisecond. Beyond it the others do not match.
 */
const stepsPerServer = 100_000;

type Section = {
  readonly entries: readonly Entry[];
  readonly byName: ReadonlyMap<string, Entry>;
  readonly collisions: readonly Collision[];
};

/**
 * A catalog of what the servers list now. It is rebuilt, one kind at a time, when a list changes or other
 * servers are there, until it is disposed. `ownUris` are those of the hub's own resources, which no server can have. `offersOf` tells
 * whose lists are those of a server: its own, unless a session has an instance for itself.
 */
export function createCatalog(
  servers: Pick<Servers, 'all' | 'changed'>,
  naming: () => Naming,
  ownUris: readonly string[],
  offersOf: (server: Server) => Pick<Server, 'listing' | 'listed'> = server => server,
): Catalog {
  const changed = createEmitter<ListKind>();
  const sections = new Map<ListKind, Section>();
  let matchers: readonly { readonly entry: Entry; readonly matches: Matcher }[] = [];

  function build(kind: ListKind): void {
    // In the order of the config, so that the same names come out after every restart.
    const offers = servers.all.flatMap(server =>
      offersOf(server).listing[kind].map(item => ({ server, item })),
    );
    const named =
      kind === 'tool' || kind === 'prompt'
        ? byPrefix(offers, reservedNames[kind])
        : byUri(offers, kind === 'resource' ? ownUris : []);
    const entries = offers.map(({ server, item }, index): Entry => {
      const publicName = named.names[index] ?? item.key;
      const { key, bytes, legacyBytes, faults, isAdministrative } = item;
      const publicly = (one: Buffer) => renamed(kind, key, one, publicName);
      return {
        server,
        name: key,
        publicName,
        bytes: publicly(bytes),
        ...(legacyBytes && { legacyBytes: publicly(legacyBytes) }),
        ...(faults && { faults }),
        ...(isAdministrative && { isAdministrative }),
      };
    });
    sections.set(kind, {
      entries,
      byName: new Map(entries.map(entry => [entry.publicName, entry])),
      collisions: named.collisions,
    });
    if (kind === 'template')
      matchers = entries.map(entry => ({ entry, matches: matcherOf(entry.publicName) }));
  }

  type Offer = { readonly server: Server; readonly item: Item };

  const byPrefix = (offers: readonly Offer[], reserved: readonly string[]) =>
    assignNames(
      offers.map(({ server, item: { key, publicName } }) => ({
        server: server.config.name,
        name: key,
        publicName,
      })),
      servers.all.map(({ config }) => config.name),
      naming(),
      reserved,
    );

  /** URIs are names already: only one that another server lists too gets its server in front. */
  function byUri(offers: readonly Offer[], reserved: readonly string[]) {
    const taken = new Set(reserved);
    const collisions: Collision[] = [];
    const names = offers.map(({ server, item }) => {
      const { name } = server.config;
      if (item.publicName !== undefined) return item.publicName;
      let publicName = item.key;
      while (taken.has(publicName)) publicName = `${name}+${publicName}`;
      if (publicName !== item.key)
        collisions.push({ server: name, name: item.key, wanted: item.key, publicName });
      taken.add(publicName);
      return publicName;
    });
    return { names, collisions };
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
    for (const kind of listKinds) {
      const before = sections.get(kind)?.entries ?? [];
      build(kind);
      if (!sameEntries(before, sections.get(kind)?.entries ?? [])) changed.fire(kind);
    }
  });

  /** Each server has a budget of its own, so that the templates of one cannot use up that of another. */
  function findTemplate(uri: string): Entry | undefined {
    const budgets = new Map<Server, Budget>();
    for (const { entry, matches } of matchers) {
      const budget = budgets.get(entry.server) ?? { stepsLeft: stepsPerServer };
      budgets.set(entry.server, budget);
      if (matches(uri, budget)) return entry;
    }
    return undefined;
  }

  const find = (kind: ListKind, publicName: string) => sections.get(kind)?.byName.get(publicName);

  return {
    changed: changed.event,
    list: kind => sections.get(kind)?.entries ?? [],
    find,
    findResource(uri) {
      const listed = find('resource', uri);
      if (listed) return { server: listed.server, uri: listed.name };
      const templated = findTemplate(uri);
      if (!templated) return undefined;
      const prefixLength = templated.publicName.length - templated.name.length;
      return { server: templated.server, uri: uri.slice(prefixLength) };
    },
    publicUriOf({ config }, uri) {
      // The names that it may have got, in the order in which they were tried.
      for (let publicUri = uri; ; publicUri = `${config.name}+${publicUri}`) {
        const entry = find('resource', publicUri);
        if (!entry && !ownUris.includes(publicUri)) return undefined;
        if (entry?.server.config === config && entry.name === uri) return publicUri;
      }
    },
    collisions: () => [...sections.values()].flatMap(section => section.collisions),
    [Symbol.dispose]() {
      serversHeard[Symbol.dispose]();
      for (const one of heard) one[Symbol.dispose]();
    },
  };
}

/** True where the same servers offer the same under the same names, in the same order. */
function sameEntries(before: readonly Entry[], after: readonly Entry[]): boolean {
  return (
    before.length === after.length &&
    before.every(({ server, bytes, legacyBytes }, index) => {
      const other = after[index];
      return (
        other?.server === server && other.bytes.equals(bytes) && !other.legacyBytes === !legacyBytes
      );
    })
  );
}

/** The description with another name in it. */
function renamed(kind: ListKind, key: string, bytes: Buffer, publicName: string): Buffer {
  if (publicName === key) return bytes;
  const span = membersOf(bytes, { start: 0, end: bytes.length })?.get(listMethods[kind].key);
  return span ? splice(bytes, [{ span, text: JSON.stringify(publicName) }]) : bytes;
}
