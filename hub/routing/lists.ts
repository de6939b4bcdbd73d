import { HubError } from '#core';
import { type ListKind, listMethods } from '#servers';
import type { Catalog } from './catalog.ts';

/** The lists of all servers as results, made when a list changes and not when it is asked for. */
export interface Lists {
  /** The result of a list method as JSON text. Throws HUB_REQUEST_INVALID for a cursor of no page. */
  page(kind: ListKind, cursor: string | undefined): string;
}

/** Entries of a page: clients of a few hundred tools get them in one answer. */
const pageSize = 1_000;

/** Items that the hub itself offers, as JSON text, by kind. */
export type OwnItems = Partial<Readonly<Record<ListKind, readonly string[]>>>;

export function createLists(catalog: Catalog, own: OwnItems): Lists {
  const pages = new Map<ListKind, readonly string[]>();
  catalog.changed(kind => pages.delete(kind));

  function pagesOf(kind: ListKind): readonly string[] {
    const made = pages.get(kind);
    if (made) return made;
    const { member } = listMethods[kind];
    const items = [
      ...(own[kind] ?? []),
      ...catalog.list(kind).map(({ bytes }) => bytes.toString()),
    ];
    const count = Math.max(1, Math.ceil(items.length / pageSize));
    const fresh = Array.from({ length: count }, (_, index) => {
      const some = items.slice(index * pageSize, (index + 1) * pageSize).join(',');
      const next = index + 1 < count ? `,"nextCursor":"${cursorOf(index + 1)}"` : '';
      return `{"${member}":[${some}]${next}}`;
    });
    pages.set(kind, fresh);
    return fresh;
  }

  return {
    page(kind, cursor) {
      const all = pagesOf(kind);
      const index = cursor === undefined ? 0 : all.findIndex((_, at) => cursorOf(at) === cursor);
      const page = all[index];
      if (page === undefined)
        throw new HubError(
          'HUB_REQUEST_INVALID',
          `"cursor" ${JSON.stringify(cursor)} is of no page of this list. Begin again without one`,
        );
      return page;
    },
  };
}

const cursorOf = (index: number) => Buffer.from(`page ${index}`).toString('base64url');
