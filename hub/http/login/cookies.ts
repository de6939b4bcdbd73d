import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '#core';
import type { Scope } from '../guard.ts';

export type CookieOptions = {
  readonly ownerKey: string;
  readonly token: string | undefined;
};

/** How long a login lasts, in seconds: 30 days. */
export const loginSeconds = 30 * 86_400;

/** The cookies of people who are logged in to the dashboard. */
export interface Cookies {
  /** The value of a new cookie, for a login of this scope. */
  create(scope: Scope): string;
  /** The scope of a request's cookie; undefined without a valid one. */
  scopeOf(headers: IncomingHttpHeaders): Scope | undefined;
}

/**
 * A cookie says what its holder may do and until when, signed with the owner's key: it survives a restart of
 * the hub, and ends with a new key. A login by the hub's token ends with that token as well.
 */
export function createCookies(
  { ownerKey, token }: CookieOptions,
  { clock }: { readonly clock: Pick<Clock, 'now'> },
): Cookies {
  const proofs: Readonly<Record<Scope, string>> = { administer: '', call: token ?? '' };
  const sign = (scope: Scope, expires: string) =>
    createHmac('sha256', ownerKey)
      .update(['dashboard login', scope, expires, proofs[scope]].join('\n'))
      .digest('base64url');

  function verify(value: string): Scope | undefined {
    const [, scope, expires = '', signature = ''] = cookiePattern.exec(value) ?? [];
    if (scope !== 'call' && scope !== 'administer') return undefined;
    if (Number(expires) * 1000 <= clock.now()) return undefined;
    return isEqual(signature, sign(scope, expires)) ? scope : undefined;
  }

  return {
    create(scope) {
      const expires = String(Math.floor(clock.now() / 1000) + loginSeconds);
      return `${scope}.${expires}.${sign(scope, expires)}`;
    },
    scopeOf(headers) {
      if (headers.cookie === undefined) return undefined;
      const name = cookieName(headers);
      const found = headers.cookie.split('; ').flatMap(pair => {
        const at = pair.indexOf('=');
        return pair.slice(0, at) === name ? (verify(pair.slice(at + 1)) ?? []) : [];
      });
      return found.find(scope => scope === 'administer') ?? found[0];
    },
  };
}

const cookiePattern = /^(call|administer)\.(\d{1,12})\.([\w-]{43})$/;

/** Browsers send the cookies of a host to all of its ports: each hub of a machine has a name of its own. */
export const cookieName = ({ host = '' }: IncomingHttpHeaders): string =>
  `agenthub-${/:(\d+)$/.exec(host)?.[1] ?? 'dashboard'}`;

/** Compares in constant time. */
export const isEqual = (one: string, other: string): boolean =>
  timingSafeEqual(digest(one), digest(other));

const digest = (text: string) => createHash('sha256').update(text).digest();
