import { isObject } from '#core';
import { type Answer, type Request, membersOf, stringAt, valueOf } from '#jsonrpc';
import { type Ownership, createOwnership } from './ownership.ts';
import type { SessionState } from '../session.ts';

/** The pages that clients were sent to, by `elicitationId`. Only these clients are told that a page is complete. */
export type UrlElicitations = Ownership<undefined>;

/** Maximum number of pages per client. The oldest pages beyond it are dropped. */
const maxPages = 1_000;

export const createUrlElicitations = (): UrlElicitations => createOwnership(maxPages);

/** The error code for a page that a person must visit first (MCP 2025-11-25, elicitation). */
const urlElicitationRequired = -32042;

/** The pages that an error requires, as the `inputRequests` of MCP 2026-07-28; undefined for any other answer. */
export function pagesWanted(answer: Answer): object | undefined {
  const urlElicitations = pagesIn(answer)?.filter(({ url }) => typeof url === 'string');
  return (
    urlElicitations &&
    Object.fromEntries(
      urlElicitations.map(({ message, url }, index) => [
        String(index + 1),
        { method: 'elicitation/create', params: { mode: 'url', message, url } },
      ]),
    )
  );
}

/** Records the pages that an error sends a client to. */
export function keepPages(
  answer: Answer,
  source: object,
  session: SessionState,
  urlElicitations: UrlElicitations,
): void {
  for (const { elicitationId: id } of pagesIn(answer) ?? [])
    if (typeof id === 'string') urlElicitations.add(session, { source, id, about: undefined });
}

/** Records the page that a server's request sends a client to, if any. */
export function keepPage(
  { bytes, method, params }: Request,
  source: object,
  session: SessionState,
  urlElicitations: UrlElicitations,
): void {
  if (method !== 'elicitation/create') return;
  const id = stringAt(bytes, membersOf(bytes, params)?.get('elicitationId'));
  if (id !== undefined) urlElicitations.add(session, { source, id, about: undefined });
}

type Page = { readonly [name: string]: unknown };

/** The pages that an error requires; undefined for any other answer. */
function pagesIn({ failed, bytes, payload }: Answer): readonly Page[] | undefined {
  const error = failed ? membersOf(bytes, payload) : undefined;
  if (valueOf(bytes, error?.get('code')) !== urlElicitationRequired) return undefined;
  const data = valueOf(bytes, error?.get('data'));
  const listed: unknown = isObject(data) ? data['elicitations'] : undefined;
  const urlElicitations: unknown[] = Array.isArray(listed) ? listed : [];
  return urlElicitations.filter(isObject);
}
