import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Who may see the dashboard of a hub that has a token: whoever gave it once, or sends it along. */
export interface Login {
  /** Whether there is anything to log in to. */
  readonly isNeeded: boolean;
  isIn(request: FastifyRequest): boolean;
  /** Sets the cookie and answers true, unless the token is another one. */
  enter(token: string, request: FastifyRequest, reply: FastifyReply): boolean;
  leave(request: FastifyRequest, reply: FastifyReply): void;
}

/**
 * The cookie holds a keyed digest of the token, never the token; its key is new with each start of the
 * hub, which ends all logins.
 */
export function createLogin(token: string | undefined): Login {
  const expected = token === undefined ? undefined : digest(token);
  const pass = createHmac('sha256', randomBytes(32))
    .update(token ?? '')
    .digest('base64url');
  const isToken = (given: string) =>
    expected !== undefined && timingSafeEqual(digest(given), expected);

  function setCookie(request: FastifyRequest, reply: FastifyReply, rest: string): void {
    const secure = request.protocol === 'https' ? '; Secure' : '';
    reply.header(
      'set-cookie',
      `${cookieName(request)}=${rest}; Path=/dashboard; HttpOnly; SameSite=Strict${secure}`,
    );
  }

  return {
    isNeeded: expected !== undefined,
    isIn(request) {
      if (!expected) return true;
      const { authorization = '', cookie = '' } = request.headers;
      const [, bearer] = /^bearer +(.*)$/i.exec(authorization) ?? [];
      if (bearer !== undefined) return isToken(bearer);
      const name = cookieName(request);
      return cookie.split('; ').some(one => {
        const [before, value = ''] = one.split('=', 2);
        return before === name && timingSafeEqual(digest(value), digest(pass));
      });
    },
    enter(given, request, reply) {
      if (!isToken(given)) return false;
      setCookie(request, reply, pass);
      return true;
    },
    leave: (request, reply) => setCookie(request, reply, '; Max-Age=0'),
  };
}

/** Cookies are the same for all ports of a host: each hub of a machine has a name of its own for its one. */
const cookieName = ({ headers }: FastifyRequest) =>
  `agenthub-${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? 'dashboard'}`;

/** Equal lengths, so that the comparison tells nothing. */
const digest = (text: string) => createHash('sha256').update(text).digest();
