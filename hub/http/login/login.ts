import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock, Log } from '#core';
import type { Logins } from '#dashboard';
import type { Scope } from '../guard.ts';
import { type CookieOptions, createCookies, isEqual } from './cookies.ts';
import { createLinks, linkMs } from './links.ts';
import { type Throttle, createThrottle } from './throttle.ts';

/** Logins to the dashboard, and the links for them. */
export interface Login extends Logins {
  /** The scope of a request's cookie; undefined without a valid one. */
  scopeOf(headers: IncomingHttpHeaders): Scope | undefined;
  /** The path of a new link, with its secret and lifetime. */
  createLink(): { readonly path: string; readonly lastsMs: number };
  readonly throttle: Throttle;
}

export function createLogin(
  options: CookieOptions,
  { clock, log }: { readonly clock: Pick<Clock, 'now' | 'monotonic'>; readonly log: Log },
): Login {
  const { token } = options;
  const cookies = createCookies(options, { clock });
  const links = createLinks({ clock, newCode: () => randomBytes(32).toString('base64url') });
  const throttle = createThrottle({ clock, log });

  return {
    scopeOf: headers => cookies.scopeOf(headers),
    createLink: () => ({
      path: `/dashboard/login?code=${links.create()}`,
      lastsMs: linkMs,
    }),
    enterByLink(code, address) {
      // A valid code is accepted despite failures at this address, because codes cannot be guessed.
      if (links.redeem(code)) return { kind: 'in', cookie: cookies.create('administer') };
      const waitMs = throttle.waitMs(address);
      throttle.failed(address, 'link');
      return waitMs > 0 ? { kind: 'blocked', waitMs } : { kind: 'wrong' };
    },
    enterByToken(given, address) {
      const waitMs = throttle.waitMs(address);
      if (waitMs > 0) return { kind: 'blocked', waitMs };
      if (token !== undefined && isEqual(given, token))
        return { kind: 'in', cookie: cookies.create('call') };
      throttle.failed(address, 'token');
      return { kind: 'wrong' };
    },
    throttle,
  };
}
