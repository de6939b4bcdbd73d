import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Log, HubError, isObject, messageOf } from '#core';
import { type Answer, elementsOf, membersOf, stringAt, valueOf } from '#jsonrpc';
import { hubsOf, legacyTool, withHubs } from '#mcp';
import type { Asking } from '../handshake/handshake.ts';
import { type Fault, faultsOf } from './item-faults.ts';

export const listKinds = ['tool', 'resource', 'template', 'prompt'] as const;
export type ListKind = (typeof listKinds)[number];

export type Item = {
  /** The name of a tool or prompt; the URI of a resource, the URI template of a template. */
  readonly key: string;
  /** The definition of the item as the server wrote it, in JSON. */
  readonly bytes: Buffer;
  /** The definition for clients before 2026-07-28, if it must differ. */
  readonly legacyBytes?: Buffer;
  /** Violations of the MCP schemas. The lists on `/mcp` leave the item out for clients of those revisions. */
  readonly faults?: readonly Fault[];
  /** Fixed name of one of the hub's own items on the endpoint of all servers. */
  readonly publicName?: string;
  /** True if its definition is not the accepted one (`#definitions`): it is not listed, and calls of it are refused. */
  readonly isHeld?: boolean;
  /** True if the item is listed only to principals with the administer grant. */
  readonly isAdministrative?: boolean;
  /** Public names of the tools that this item calls. It is listed only to principals to whom one of these is listed. */
  readonly calls?: readonly string[];
};

/** All lists of a server, in the server's order. */
export type Listing = Readonly<Record<ListKind, readonly Item[]>>;

/** Creates a record with one value for each kind of list. */
export const byKind = <T>(of: (kind: ListKind) => T): Readonly<Record<ListKind, T>> => ({
  tool: of('tool'),
  resource: of('resource'),
  template: of('template'),
  prompt: of('prompt'),
});

/** Adds the faults of an item. Throws SyntaxError if its bytes are not JSON. */
export function withFaults(kind: ListKind, item: Item): Item {
  const { bytes, legacyBytes } = item;
  const value = valueOf(bytes, { start: 0, end: bytes.length });
  const faults = faultsOf(kind, value, legacyBytes !== undefined);
  return faults.length > 0 ? { ...item, faults } : item;
}

export const emptyListing: Listing = { tool: [], resource: [], template: [], prompt: [] };

/** Who may receive a cached list: all clients, or only the client it was read for. */
export type CacheScope = 'public' | 'private';

export type Reading = {
  readonly items: readonly Item[];
  readonly nameless: number;
  /** Time when the list expires, on the monotonic clock in milliseconds; 0 if the server set no TTL. */
  readonly freshUntil: number;
  readonly scope: CacheScope;
};

/** The reading of a list that the server does not offer. */
export const emptyReading: Reading = { items: [], nameless: 0, freshUntil: 0, scope: 'private' };

type ListMethod = Readonly<Record<'method' | 'member' | 'key' | 'capability', string>>;

/** The request and the capability for each list (MCP 2025-11-25, server features). */
export const listMethods: Readonly<Record<ListKind, ListMethod>> = {
  tool: { method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' },
  resource: { method: 'resources/list', member: 'resources', key: 'uri', capability: 'resources' },
  template: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
  },
  prompt: { method: 'prompts/list', member: 'prompts', key: 'name', capability: 'prompts' },
};

/** Maximum length of a list. Longer lists are truncated with a warning, to bound the hub's memory. */
const maxItems = 10_000;
/** Maximum number of templates: all of them are matched against a URI that is not listed. */
const maxTemplates = 1_000;
const maxItemsOf = (kind: ListKind) => (kind === 'template' ? maxTemplates : maxItems);
const maxPages = 1_000;
/** Size of responses, in bytes, after which no further page of a list is requested. */
const maxBytes = 64 * 2 ** 20;
/** Size of items, in bytes, after which their reading yields to the event loop. */
const bytesPerTurn = 256 * 1024;

/** Dependencies and settings for reading lists. */
export type ListReader = {
  readonly server: string;
  readonly asking: Pick<Asking, 'request'>;
  /** Timeout of each page, in ms. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** True if the server speaks MCP 2026-07-28: its tools are converted for older clients. Default: false. */
  readonly isStateless?: boolean;
  /** Id of this hub; items that the server got from it are dropped. Absent: the server has no such items. */
  readonly hubId?: string | undefined;
  /** Id of the hub, if the server is an AgentHub itself. */
  readonly hubOfServer?: string | undefined;
};

/** Reads all pages of one list. Rejects with HubError if the server does not answer. */
export async function readList(kind: ListKind, reader: ListReader): Promise<Reading> {
  const { asking, timeoutMs, clock, log } = reader;
  const { method } = listMethods[kind];
  const items: Item[] = [];
  let nameless = 0;
  let bytes = 0;
  // The list expires when its first page does.
  const since = clock.monotonic();
  let ttlMs = Infinity;
  let scope: CacheScope = 'public';
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const answer = await asking.request(method, cursor === undefined ? {} : { cursor }, timeoutMs);
    const page = await readPage(kind, reader, answer, items);
    nameless += page.nameless;
    bytes += answer.bytes.length;
    const { next } = page;
    const isFull = pages >= maxPages || bytes >= maxBytes;
    const tooLong = items.length > maxItemsOf(kind) || (next !== undefined && isFull);
    ({ ttlMs, scope } = stricter({ ttlMs, scope }, answer));
    const reading = { nameless, freshUntil: ttlMs > 0 ? since + ttlMs : 0, scope };
    if (next === undefined && !tooLong) return { items, ...reading };
    if (next === undefined || tooLong || cursors.has(next)) {
      const why = tooLong ? 'the list is too long' : 'the server repeats a cursor';
      log.warn({ method, items: items.length, pages }, `${why}: the list is truncated`);
      return { items: items.slice(0, maxItemsOf(kind)), ...reading };
    }
    cursors.add(next);
    cursor = next;
  }
}

/** HTTP statuses of a host that is overloaded or being restarted: they say nothing about the list. */
const awayStatuses: readonly unknown[] = [408, 429, 502, 503, 504];

function isRefusal(error: unknown): boolean {
  if (!(error instanceof HubError)) return false;
  const { status } = error.data;
  return (
    error.code === 'HUB_SERVER_PROTOCOL' || (status !== undefined && !awayStatuses.includes(status))
  );
}

/** Reads every list that the capabilities announce. A list that the server refuses is empty. */
export async function readListing(
  capabilities: unknown,
  reader: ListReader,
): Promise<Readonly<Record<ListKind, Reading>>> {
  const read = async (kind: ListKind): Promise<Reading> => {
    const { capability, method } = listMethods[kind];
    if (!isObject(capabilities) || !isObject(capabilities[capability])) return emptyReading;
    try {
      return await readList(kind, reader);
    } catch (error) {
      // Some servers announce resources but do not know templates. A timeout or an outage fails the start.
      if (!isRefusal(error)) throw error;
      reader.log.debug({ method, error: messageOf(error) }, 'the server has no such list');
      return emptyReading;
    }
  };
  const [tool, resource, template, prompt] = await Promise.all([
    read('tool'),
    read('resource'),
    read('template'),
    read('prompt'),
  ]);
  return { tool, resource, template, prompt };
}

/**
 * Adds the items of a page, up to one more than the maximum, and resolves with the cursor of the next page. Yields to
 * the event loop, as a page may have 64 MiB.
 */
async function readPage(
  kind: ListKind,
  { server, isStateless, hubId, hubOfServer }: ListReader,
  answer: Answer,
  items: Item[],
): Promise<{ readonly nameless: number; readonly next: string | undefined }> {
  const { member, key, method } = listMethods[kind];
  const result = membersOf(answer.bytes, answer.payload);
  const list = result?.get(member);
  if (!list || answer.bytes[list.start] !== 0x5b)
    throw new HubError('HUB_SERVER_PROTOCOL', `${server} answered ${method} without "${member}"`, {
      data: { server, method },
    });
  // Copied, as a slice would keep the whole message, or Node's buffer pool, in memory.
  const copy = Buffer.allocUnsafeSlow(list.end - list.start);
  answer.bytes.copy(copy, 0, list.start, list.end);
  let nameless = 0;
  let yieldAt = bytesPerTurn;
  const elements = elementsOf(copy, { start: 0, end: copy.length }, maxItemsOf(kind) + 1);
  for (const { start, end } of elements) {
    if (end >= yieldAt) {
      await nextTurn();
      yieldAt = end + bytesPerTurn;
    }
    const members = membersOf(copy, { start, end });
    const name = stringAt(copy, members?.get(key));
    if (items.length > maxItemsOf(kind)) break;
    const hubs = members ? hubsOf(copy, members) : [];
    if (hubId !== undefined && hubs.includes(hubId)) continue;
    const read = copy.subarray(start, end);
    const bytes = hubOfServer === undefined ? read : withHubs(read, [...hubs, hubOfServer]);
    const legacyBytes = isStateless && kind === 'tool' ? legacyTool(bytes) : undefined;
    if (name === undefined) nameless++;
    else items.push(withFaults(kind, { key: name, bytes, ...(legacyBytes && { legacyBytes }) }));
  }
  return { nameless, next: stringAt(answer.bytes, result?.get('nextCursor')) };
}

/** Returns the strictest caching terms of the earlier pages and this one (MCP 2026-07-28, caching). */
function stricter(
  before: { readonly ttlMs: number; readonly scope: CacheScope },
  { bytes, payload }: Answer,
): { readonly ttlMs: number; readonly scope: CacheScope } {
  const result = membersOf(bytes, payload);
  const ttlMs = valueOf(bytes, result?.get('ttlMs'));
  const isPublic = stringAt(bytes, result?.get('cacheScope')) === 'public';
  return {
    ttlMs: typeof ttlMs === 'number' ? Math.min(before.ttlMs, Math.max(0, ttlMs)) : 0,
    scope: isPublic ? before.scope : 'private',
  };
}

/** True if two lists are equal byte by byte, in the same order. */
export const sameItems = (before: readonly Item[], after: readonly Item[]): boolean =>
  before.length === after.length && before.every((item, index) => isSameItem(item, after[index]));

type ComparedItem = Pick<Item, 'bytes' | 'legacyBytes' | 'isHeld'>;

/** True if clients get the same bytes for both items, or get neither of them. */
export const isSameItem = (
  { bytes, legacyBytes, isHeld }: ComparedItem,
  other: ComparedItem | undefined,
): boolean =>
  other !== undefined &&
  other.bytes.equals(bytes) &&
  // Only the presence of `legacyBytes` is compared: it depends on the server's era, and the content on the same bytes.
  !other.legacyBytes === !legacyBytes &&
  !other.isHeld === !isHeld;
