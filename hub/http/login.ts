import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Clock, type Log, setBounded } from '#core';
import type { LoginResult } from '#dashboard';
import type { Scope } from './guard.ts';

/** Lifetime of a login cookie in seconds: 30 days. */
export const loginSeconds = 30 * 86_400;
/** Lifetime of a login link in milliseconds. */
export const linkMs = 10 * 60_000;
/** Maximum number of unused links. Above it, the oldest link is dropped. */
const maxLinks = 20;
/** Number of failed logins of an address within `windowMs` after which it must wait for the end of that window. */
export const maxFailures = 10;
export const windowMs = 60_000;
const maxAddresses = 1_000;

type CookieScope = Exclude<Scope, 'public'>;

export type Login = ReturnType<typeof createLogin>;

type Options = { readonly ownerKey: string; readonly token: string | undefined };
type Needs = { readonly clock: Pick<Clock, 'now' | 'monotonic'>; readonly log: Log };

/** Manages logins to the dashboard, and the links for them. */
export function createLogin(options: Options, needs: Needs) {
  const { token } = options;
  const cookies = createCookies(options, needs);
  const links = createLinks(needs);
  const throttle = createThrottle(needs, 'a login failed');

  return {
    scopeOf: cookies.scopeOf,
    isOwner: cookies.isOwner,
    /** Creates a link. Returns its path, which contains the secret, and its lifetime in ms. */
    createLink: () => ({ path: `/dashboard/login?code=${links.create()}`, lastsMs: linkMs }),
    enterByLink(code: string, address: string): LoginResult {
      // A valid code is accepted despite failures at this address, because codes cannot be guessed.
      if (links.redeem(code)) return { kind: 'in', cookie: cookies.create('administer') };
      const waitMs = throttle.waitMs(address);
      throttle.failed(address, 'link');
      return waitMs > 0 ? { kind: 'blocked', waitMs } : { kind: 'wrong' };
    },
    enterByToken(given: string, address: string): LoginResult {
      const waitMs = throttle.waitMs(address);
      if (waitMs > 0) return { kind: 'blocked', waitMs };
      if (token !== undefined && isEqual(given, token))
        return { kind: 'in', cookie: cookies.create('call') };
      throttle.failed(address, 'token');
      return { kind: 'wrong' };
    },
  };
}

/**
 * Creates and verifies login cookies. A cookie contains a scope and an expiry, signed with the owner's key: it
 * survives a restart of the hub, and is invalid with a new key. A login with the hub's token also becomes invalid with
 * that token.
 */
function createCookies({ ownerKey, token }: Options, { clock }: Needs) {
  const proofs: Readonly<Record<CookieScope, string>> = { administer: '', call: token ?? '' };
  const sign = (scope: CookieScope, expires: string) =>
    createHmac('sha256', ownerKey)
      .update(['dashboard login', scope, expires, proofs[scope]].join('\n'))
      .digest('base64url');

  function verify(value: string): CookieScope | undefined {
    const [, scope, expires = '', signature = ''] = cookiePattern.exec(value) ?? [];
    if (scope !== 'call' && scope !== 'administer') return undefined;
    if (Number(expires) * 1000 <= clock.now()) return undefined;
    return isEqual(signature, sign(scope, expires)) ? scope : undefined;
  }

  function scopeOf(headers: IncomingHttpHeaders): CookieScope | undefined {
    if (headers.cookie === undefined) return undefined;
    const name = cookieName(headers);
    const found = headers.cookie.split('; ').flatMap(pair => {
      const at = pair.indexOf('=');
      return pair.slice(0, at) === name ? (verify(pair.slice(at + 1)) ?? []) : [];
    });
    return found.find(scope => scope === 'administer') ?? found[0];
  }

  return {
    create(scope: CookieScope): string {
      const expires = String(Math.floor(clock.now() / 1000) + loginSeconds);
      return `${scope}.${expires}.${sign(scope, expires)}`;
    },
    scopeOf,
    /** True if a cookie in the headers gives administration. */
    isOwner: (headers: IncomingHttpHeaders): boolean => scopeOf(headers) === 'administer',
  };
}

const cookiePattern = /^(call|administer)\.(\d{1,12})\.([\w-]{43})$/;

/** Returns a cookie name with the hub's port: browsers send the cookies of a host to all of its ports. */
export const cookieName = ({ host = '' }: IncomingHttpHeaders): string =>
  `agenthub-${/:(\d+)$/.exec(host)?.[1] ?? 'dashboard'}`;

const isEqual = (one: string, other: string) => timingSafeEqual(digest(one), digest(other));

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Creates and redeems login links. Each link works once. */
function createLinks({ clock }: Needs) {
  /** Expiry of each link by the digest of its code. Digests keep the time of a look-up from revealing the code. */
  const ends = new Map<string, number>();
  const keyOf = (code: string) => digest(code).toString('base64');
  return {
    create(): string {
      const code = randomBytes(32).toString('base64url');
      setBounded(ends, keyOf(code), clock.monotonic() + linkMs, maxLinks);
      return code;
    },
    /** True once for each code that was created within the last `linkMs`. */
    redeem(code: string): boolean {
      const key = keyOf(code);
      const end = ends.get(key);
      ends.delete(key);
      return end !== undefined && clock.monotonic() < end;
    },
  };
}

type ThrottleNeeds = { readonly clock: Pick<Clock, 'monotonic'>; readonly log: Log };

/**
 * Counts failed logins by address. Logs each failure until the address must wait, so that an address adds at most
 * `maxFailures` lines in a minute to the log.
 */
export function createThrottle({ clock, log }: ThrottleNeeds, message: string) {
  const failures = new Map<string, { count: number; readonly until: number }>();

  function recent(address: string) {
    const found = failures.get(address);
    if (found && found.until > clock.monotonic()) return found;
    failures.delete(address);
    return undefined;
  }

  return {
    /** Returns how long an address must wait, in milliseconds; 0 if it need not wait. */
    waitMs(address: string): number {
      const found = recent(address);
      return found && found.count >= maxFailures ? found.until - clock.monotonic() : 0;
    },
    failed(address: string, way: 'link' | 'token' | 'key' | 'call' | 'code'): void {
      const found = recent(address) ?? { count: 0, until: clock.monotonic() + windowMs };
      found.count++;
      setBounded(failures, address, found, maxAddresses);
      if (found.count > maxFailures) return;
      const mustWait = found.count === maxFailures ? ': this address must wait for a minute' : '';
      log.warn({ address, way, failures: found.count }, `${message}${mustWait}`);
    },
  };
}
