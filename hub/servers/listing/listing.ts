import { type Clock, type Log, HubError, isObject, messageOf } from '#core';
import { type Answer, elementsOf, membersOf, stringAt, valueOf } from '#jsonrpc';
import { type Era, legacyTool } from '#mcp';
import type { Asking } from '../handshake/handshake.ts';
import { type Fault, faultsOf } from './item-faults.ts';

export const listKinds = ['tool', 'resource', 'template', 'prompt'] as const;
export type ListKind = (typeof listKinds)[number];

/** One thing that a server offers: the bytes of its description as the server wrote them. */
export type Item = {
  /** The name, or of resources the URI, of templates the URI template. */
  readonly key: string;
  readonly bytes: Buffer;
  /** The description for clients of the revisions before 2026-07-28, where it must be another. */
  readonly legacyBytes?: Buffer;
  /** What the schemas of MCP refuse in it: clients of those revisions are not listed it among all servers' items. */
  readonly faults?: readonly Fault[];
  /** Fixed name on the endpoint of all servers, of items of the hub's own. */
  readonly publicName?: string;
  /** Only principals with the administer grant are listed it. */
  readonly isAdministrative?: boolean;
};

/** What a server offers, in its own order. */
export type Listing = Readonly<Record<ListKind, readonly Item[]>>;

/** The item with what is wrong with it. Throws SyntaxError where its bytes are no JSON. */
export function withFaults(kind: ListKind, item: Item): Item {
  const { bytes, legacyBytes } = item;
  const value = valueOf(bytes, { start: 0, end: bytes.length });
  const faults = faultsOf(kind, value, legacyBytes !== undefined);
  return faults.length > 0 ? { ...item, faults } : item;
}

export const emptyListing: Listing = { tool: [], resource: [], template: [], prompt: [] };

/** Who may be given a list from the hub's memory: anybody, or only who it was read for. */
export type CacheScope = 'public' | 'private';

/** A list as it was read. */
export type Reading = {
  readonly items: readonly Item[];
  /** How many things in the list have no name, so that nobody can use them. */
  readonly nameless: number;
  /** Until when the server lets it be used, in milliseconds on the monotonic clock; 0 where it says nothing. */
  readonly freshUntil: number;
  readonly scope: CacheScope;
};

/** What a server has no list of. */
export const emptyReading: Reading = {
  items: [],
  nameless: 0,
  freshUntil: 0,
  scope: 'private',
};

type ListMethod = {
  readonly method: string;
  readonly member: string;
  readonly key: string;
  readonly capability: string;
};

/** How each list is asked for (MCP 2025-11-25, server features). */
export const listMethods: Readonly<Record<ListKind, ListMethod>> = {
  tool: { method: 'tools/list', member: 'tools', key: 'name', capability: 'tools' },
  resource: {
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    capability: 'resources',
  },
  template: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
  },
  prompt: { method: 'prompts/list', member: 'prompts', key: 'name', capability: 'prompts' },
};

/** A list longer than this is cut, and the operator told: a server may not fill the hub's memory. */
const maxItems: Readonly<Record<ListKind, number>> = {
  tool: 10_000,
  resource: 10_000,
  // Each of them is tried for a URI that nobody lists.
  template: 1_000,
  prompt: 10_000,
};
const maxPages = 1_000;

type ListNeeds = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** That of the server; `legacy` unless given. */
  readonly era?: Era;
};

/** Reads all pages of one list. Rejects with HubError where the server does not answer. */
export async function readList(
  server: string,
  asking: Pick<Asking, 'request'>,
  kind: ListKind,
  timeoutMs: number,
  needs: ListNeeds,
): Promise<Reading> {
  const { method } = listMethods[kind];
  const items: Item[] = [];
  let nameless = 0;
  // Counted from the first page: the others may be kept for longer, but make one list with it.
  const since = needs.clock.monotonic();
  let ttlMs = Infinity;
  let scope: CacheScope = 'public';
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const answer = await asking.request(method, cursor === undefined ? {} : { cursor }, timeoutMs);
    const page = readPage(server, kind, answer, needs.era, items);
    nameless += page.nameless;
    const { next } = page;
    const tooLong = items.length > maxItems[kind] || (next !== undefined && pages >= maxPages);
    ({ ttlMs, scope } = stricter({ ttlMs, scope }, answer));
    const reading = { nameless, freshUntil: ttlMs > 0 ? since + ttlMs : 0, scope };
    if (next === undefined && !tooLong) return { items, ...reading };
    if (next === undefined || tooLong || cursors.has(next)) {
      const why = tooLong ? 'the list is too long' : 'the server repeats a cursor';
      needs.log.warn({ method, items: items.length, pages }, `${why}: the list is cut here`);
      return { items: items.slice(0, maxItems[kind]), ...reading };
    }
    cursors.add(next);
    cursor = next;
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof HubError &&
  (error.code === 'HUB_SERVER_PROTOCOL' || error.data['status'] !== undefined);

/** Reads every list that the server's capabilities announce; one that fails is empty, and logged. */
export async function readListing(
  server: string,
  asking: Pick<Asking, 'request'>,
  capabilities: unknown,
  timeoutMs: number,
  needs: ListNeeds,
): Promise<Readonly<Record<ListKind, Reading>>> {
  const read = async (kind: ListKind): Promise<Reading> => {
    const { capability, method } = listMethods[kind];
    if (!isObject(capabilities) || !isObject(capabilities[capability])) return emptyReading;
    try {
      return await readList(server, asking, kind, timeoutMs, needs);
    } catch (error) {
      // Servers announce resources and know no templates: only silence keeps a server from being ready.
      if (!isRefusal(error)) throw error;
      needs.log.debug({ method, error: messageOf(error) }, 'the server has no such list');
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

/** Adds the items of a page, up to one more than there may be, and gives the cursor of the next. */
function readPage(
  server: string,
  kind: ListKind,
  answer: Answer,
  era: Era | undefined,
  items: Item[],
): { readonly nameless: number; readonly next: string | undefined } {
  const { member, key, method } = listMethods[kind];
  const result = membersOf(answer.bytes, answer.payload);
  const list = result?.get(member);
  if (!list || answer.bytes[list.start] !== 0x5b)
    throw new HubError('HUB_SERVER_PROTOCOL', `${server} answered ${method} without "${member}"`, {
      data: { server, method },
    });
  // A copy of its own: what was read, and Node's pool of small buffers, hold more than the list.
  const copy = Buffer.allocUnsafeSlow(list.end - list.start);
  answer.bytes.copy(copy, 0, list.start, list.end);
  let nameless = 0;
  for (const { start, end } of elementsOf(copy, { start: 0, end: copy.length })) {
    const name = stringAt(copy, membersOf(copy, { start, end })?.get(key));
    const bytes = copy.subarray(start, end);
    if (items.length > maxItems[kind]) break;
    const legacyBytes = era === 'modern' && kind === 'tool' ? legacyTool(bytes) : undefined;
    if (name === undefined) nameless++;
    else items.push(withFaults(kind, { key: name, bytes, ...(legacyBytes && { legacyBytes }) }));
  }
  return { nameless, next: stringAt(answer.bytes, result?.get('nextCursor')) };
}

/** What holds for all pages so far and this one (MCP 2026-07-28, caching). */
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

/** True where two lists say the same in the same order, byte by byte. */
export function sameItems(before: readonly Item[], after: readonly Item[]): boolean {
  return (
    before.length === after.length &&
    before.every(({ bytes, legacyBytes }, index) => {
      const other = after[index];
      // What older clients get is made from the same bytes: it differs where the era of the server does.
      return other?.bytes.equals(bytes) && !other.legacyBytes === !legacyBytes;
    })
  );
}
