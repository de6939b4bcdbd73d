import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Whose process opened a connection, decided once when the hub accepted it (peers.ts). */
export type Peer =
  | { readonly kind: 'same-user' }
  /** A connection from elsewhere, or a system that does not tell. */
  | { readonly kind: 'unchecked' }
  | { readonly kind: 'refused'; readonly why: string };

/** A request as the guard sees it, from each reader of requests (plain posts, Node's HTTP, upgrades). */
export type GuardedRequest = {
  readonly method: string;
  /** The request target as the client sent it. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The number of Host headers: Node's `headers` show the first only. */
  readonly hostCount: number;
  /** The digest of the Authorization header. It depends on the head alone, so it may be kept with a parsed head. */
  readonly credentials: Buffer | undefined;
  readonly peer: Peer;
  /** Whether the route takes HTML forms, as the dashboard's do. */
  readonly takesForms: boolean;
};

export type GuardRefusal = { readonly status: 400 | 401 | 403 | 415; readonly message: string };

/** A request that Node's HTTP has read, for the guard. */
export function guardedRequest(
  { method = '', url = '', headers, rawHeaders }: IncomingMessage,
  peer: Peer,
  takesForms = false,
): GuardedRequest {
  let hostCount = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hostCount++;
  }
  const credentials = credentialsOf(headers);
  return { method, target: url, headers, hostCount, credentials, peer, takesForms };
}

/** The digest of an Authorization header, whose scheme may be written in any case (RFC 9110, section 11.1). */
export const credentialsOf = ({ authorization }: IncomingHttpHeaders): Buffer | undefined =>
  authorization === undefined ? undefined : digest(authorization.replace(/^bearer +/i, 'Bearer '));

/** Digests have equal lengths, so the time of a comparison reveals nothing about the token. */
export const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
