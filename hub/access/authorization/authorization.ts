import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, HubError, type Log, messageOf, setBounded } from '#core';
import type { NamedClients } from '../named-clients.ts';
import { digestOf } from '../token-table.ts';
import { createClientIds, readRegistration } from './login-client.ts';
import { type LoginRequest, answerAddress, isOfHub, readLoginRequest } from './requests.ts';

/** Lifetime of an access token from a login, in milliseconds: 90 days. */
const loginTokenMs = 90 * 86_400_000;
/** Lifetime of an authorization code, in milliseconds. */
const codeMs = 60_000;
/** Time that the owner has to allow or deny a login, in milliseconds. */
const decisionMs = 10 * 60_000;
/** Maximum number of pending login requests. The oldest is dropped. Only requests in the owner's browser are stored. */
const maxRequests = 20;
/** Maximum number of answered login requests that are recognized. */
const maxAnswered = 100;
/** Maximum number of stored authorization codes. The oldest is dropped. Only a decision of the owner creates a code. */
const maxCodes = 100;

/** Error response of OAuth (RFC 6749, section 5.2). */
type OAuthRefusal = { readonly error: string; readonly error_description: string };

/** Successful response of the token endpoint (RFC 6749, section 5.1). */
type Granted = {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Lifetime of the token, in seconds. */
  readonly expires_in: number;
};

type Code = {
  readonly request: LoginRequest;
  readonly name: string;
  readonly until: number;
  /** SHA-256 in hex of the token that the code was exchanged for; undefined for an unused code. */
  readonly used: string | undefined;
};

type Needs = {
  readonly clients: Pick<NamedClients, 'create' | 'revoke' | 'whyNotByLogin'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Log;
  readonly audit: (line: {
    readonly action: 'client_login_allowed' | 'client_login_denied' | 'token_created';
    /** Name of the person who decided. Absent: the program itself did this. */
    readonly principal?: string;
    readonly target: string;
    readonly details: Readonly<Record<string, string>>;
  }) => void;
};

export type HubAuthorization = ReturnType<typeof createAuthorization>;

/**
 * Creates the hub's OAuth authorization server. It gives a program a token as a named client when the owner allows it
 * in a browser (decisions/0042). The code is bound by PKCE S256 and is exchanged once for an opaque token. `secret`:
 * the secret of the hub, which signs client ids.
 */
export function createAuthorization({ secret }: { readonly secret: Buffer }, needs: Needs) {
  const { clients, clock, log, audit } = needs;
  const ids = createClientIds(secret);
  const requests = new Map<string, { readonly request: LoginRequest; readonly until: number }>();
  /** Digests of the requests that the owner has answered. A browser may show one again, in another tab or after Back. */
  const answered = new Map<string, true>();
  /** Authorization codes by their digests, so that the time of a look-up reveals nothing about a code. */
  const codes = new Map<string, Code>();

  function pending(id: string): LoginRequest {
    const found = requests.get(id);
    if (found && clock.monotonic() < found.until) return found.request;
    requests.delete(id);
    throw new HubError(
      'HUB_REQUEST_INVALID',
      'This request was answered already, is older than ten minutes, or was shown before the hub was restarted. Log in again in the program.',
    );
  }

  function setAnswered(id: string, request: LoginRequest): void {
    requests.delete(id);
    setBounded(answered, digestText(JSON.stringify(request)), true, maxAnswered);
  }

  function createCode(request: LoginRequest, name: string): string {
    const code = randomBytes(32).toString('base64url');
    const until = clock.monotonic() + codeMs;
    setBounded(codes, digestText(code), { request, name, until, used: undefined }, maxCodes);
    return code;
  }

  /** Revokes the token of a code that is used a second time, as the code may be stolen (RFC 6749, section 4.1.2). */
  async function revokeUsed({ name, used }: Code): Promise<void> {
    try {
      await clients.revoke(name, used);
      log.warn({ client: name }, 'a code of a login came twice: its token is revoked');
    } catch (error) {
      log.info(
        { client: name, error: messageOf(error) },
        'a code of a login came twice: its token was revoked before',
      );
    }
  }

  return {
    /** Registers a program (RFC 7591). `issuer`: origin at which the program reaches the hub. Stores nothing. */
    register(body: unknown, issuer: string) {
      const read = readRegistration(body);
      if ('error' in read) return read;
      return {
        client_id: ids.make({ ...read, issuer }),
        client_id_issued_at: Math.floor(clock.now() / 1000),
        client_name: read.name,
        redirect_uris: read.redirects,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code'],
        response_types: ['code'],
      };
    },
    read: (query: URLSearchParams) => readLoginRequest(query, id => ids.read(id)),
    /** Stores a login request until the owner decides, and returns its id for the decision. */
    ask(request: LoginRequest): string {
      const id = randomBytes(32).toString('base64url');
      setBounded(requests, id, { request, until: clock.monotonic() + decisionMs }, maxRequests);
      return id;
    },
    /** True if the owner has allowed or denied this login request. */
    isAnswered: (request: LoginRequest) => answered.has(digestText(JSON.stringify(request))),
    /** Returns a pending login request by its id. Throws HUB_REQUEST_INVALID for an unknown or expired one. */
    pending,
    /** Returns a client name that the program can have; empty if none of the tried names is free. */
    suggestName({ client, clientId }: LoginRequest): string {
      const base = nameFrom(client.name);
      const digest = digestText(clientId);
      for (let count = 1; count < 100; count++) {
        const name = count === 1 ? base : `${base}-${count}`;
        if (clients.whyNotByLogin(name, digest) === undefined) return name;
      }
      return '';
    },
    /** Returns the reason why the program cannot have this client name; undefined if it can. */
    whyNot: ({ clientId }: LoginRequest, name: string) =>
      clients.whyNotByLogin(name, digestText(clientId)),
    /** Allows the login. Returns the redirect address with the authorization code. Throws HubError. */
    allow(id: string, name: string, principal: string): string {
      const request = pending(id);
      const why = clients.whyNotByLogin(name, digestText(request.clientId));
      if (why !== undefined) throw new HubError('HUB_CONFIG_CONFLICT', `name: ${why}`);
      setAnswered(id, request);
      audit({ action: 'client_login_allowed', principal, target: name, details: claims(request) });
      return answerAddress(request, { code: createCode(request, name) });
    },
    /** Denies the login. Returns the redirect address with the error. Throws HubError. */
    deny(id: string, principal: string): string {
      const request = pending(id);
      setAnswered(id, request);
      const target = nameFrom(request.client.name);
      audit({ action: 'client_login_denied', principal, target, details: claims(request) });
      return answerAddress(request, {
        error: 'access_denied',
        error_description: 'The owner of the hub denied it',
      });
    },
    /** Exchanges a code for a token (RFC 6749, section 4.1.3). Any attempt uses up the code. */
    async exchange(form: URLSearchParams): Promise<Granted | OAuthRefusal> {
      const twice = [...form.keys()].find(
        name => name !== 'resource' && form.getAll(name).length > 1,
      );
      if (twice !== undefined) return refusal('invalid_request', 'a parameter stands twice');
      if (form.get('grant_type') !== 'authorization_code')
        return refusal('unsupported_grant_type', 'grant_type must be authorization_code');
      const clientId = form.get('client_id') ?? '';
      if (!ids.read(clientId)) return refusal('invalid_client', 'this hub made no such client_id');
      const key = digestText(form.get('code') ?? '');
      const code = codes.get(key);
      if (code?.used !== undefined && clock.monotonic() < code.until) await revokeUsed(code);
      if (!code || code.used !== undefined)
        return refusal('invalid_grant', 'the code is unknown, was used, or has expired');
      codes.delete(key);
      const why = whyNotExchanged(code, form, clock.monotonic());
      if (why) return why;
      return await grant(code, key);
    },
  };

  async function grant(code: Code, key: string): Promise<Granted | OAuthRefusal> {
    const { request, name } = code;
    const token = randomBytes(32).toString('base64url');
    const digest = digestText(token);
    const login = {
      client: digestText(request.clientId),
      expiresAt: clock.now() + loginTokenMs,
    };
    setBounded(codes, key, { ...code, used: digest }, maxCodes);
    try {
      await clients.create(name, digest, login);
    } catch (error) {
      return refusal('invalid_grant', messageOf(error));
    }
    audit({ action: 'token_created', target: name, details: claims(request) });
    return { access_token: token, token_type: 'Bearer', expires_in: loginTokenMs / 1000 };
  }
}

function whyNotExchanged(
  { request, until }: Code,
  form: URLSearchParams,
  now: number,
): OAuthRefusal | undefined {
  if (now >= until) return refusal('invalid_grant', 'the code has expired');
  if (form.get('client_id') !== request.clientId)
    return refusal('invalid_grant', 'the code is of another client');
  // OAuth 2.1 omits redirect_uri here, as PKCE replaces this check. OAuth 2.0 clients send it.
  const redirect = form.get('redirect_uri');
  if (redirect !== null && redirect !== request.redirect)
    return refusal('invalid_grant', 'the code was sent to another redirect_uri');
  if (!isVerifier(form.get('code_verifier') ?? '', request.challenge))
    return refusal('invalid_grant', 'code_verifier does not match the challenge');
  if (!form.getAll('resource').every(resource => isOfHub(resource, request.client.issuer)))
    return refusal('invalid_target', `resource must be an endpoint of ${request.client.issuer}`);
  return undefined;
}

function isVerifier(verifier: string, challenge: string): boolean {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  const digest = createHash('sha256').update(verifier).digest('base64url');
  return timingSafeEqual(Buffer.from(digest), Buffer.from(challenge));
}

/** Derives a client name from the name that a program claims: `claude-code` from `Claude Code (hub)`. */
function nameFrom(claimed: string): string {
  const words = claimed
    .replace(/\(.*/s, '')
    .toLowerCase()
    .replaceAll(/[^\w]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 28);
  return words === '' ? 'program' : words;
}

/** Details about a program for the audit log. The program claims them itself. */
const claims = ({ client, redirect }: LoginRequest) => ({
  program: client.name,
  redirect: redirect.split('?')[0] ?? '',
});

const digestText = (text: string) => digestOf(text).toString('hex');

const refusal = (error: string, description: string): OAuthRefusal => ({
  error,
  error_description: description,
});
