import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, HubError, type Log, messageOf, setBounded } from '#core';
import type { NamedClients } from '../named-clients.ts';
import { digestOf } from '../token-table.ts';
import { createClientIds, readRegistration } from './login-client.ts';
import { type LoginRequest, answerAddress, isOfHub, readLoginRequest } from './requests.ts';

/** How long the token of a login works, in milliseconds: 90 days. */
const loginTokenMs = 90 * 86_400_000;
/** How long a code may take to its exchange, in milliseconds. */
const codeMs = 60_000;
/** How long a person may take to decide, in milliseconds. */
const decisionMs = 10 * 60_000;
/** The oldest is dropped. Only the owner's requests take a place. */
const maxRequests = 20;
/** The oldest is dropped. Only the owner's decisions make one. */
const maxCodes = 100;

/** An error answer of OAuth (RFC 6749, section 5.2). */
type OAuthRefusal = { readonly error: string; readonly error_description: string };

/** What the token endpoint answers (RFC 6749, section 5.1). */
type Granted = {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** In seconds. */
  readonly expires_in: number;
};

type Code = {
  readonly request: LoginRequest;
  readonly name: string;
  readonly until: number;
  /** Digest of the token that it was exchanged for, in hex. */
  readonly used: string | undefined;
};

type Needs = {
  readonly clients: Pick<NamedClients, 'create' | 'revoke' | 'whyNotByLogin'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Log;
  readonly audit: (line: {
    readonly action: 'client_login_allowed' | 'client_login_denied' | 'token_created';
    /** Absent: the program itself. */
    readonly principal?: string;
    readonly target: string;
    readonly details: Readonly<Record<string, string>>;
  }) => void;
};

export type HubAuthorization = ReturnType<typeof createAuthorization>;

/**
 * The hub's own authorization server: it lets a program in as a client by name when the owner of the hub says so in a
 * browser (decisions/0042). A login is a code with PKCE S256, which is exchanged once for an opaque token. `secret`: the
 * secret of the hub.
 */
export function createAuthorization({ secret }: { readonly secret: Buffer }, needs: Needs) {
  const { clients, clock, log, audit } = needs;
  const ids = createClientIds(secret);
  const requests = new Map<string, { readonly request: LoginRequest; readonly until: number }>();
  /** By their digests, so that the time of a look-up reveals nothing. */
  const codes = new Map<string, Code>();

  function pending(id: string): LoginRequest {
    const found = requests.get(id);
    if (found && clock.monotonic() < found.until) return found.request;
    requests.delete(id);
    throw new HubError(
      'HUB_REQUEST_INVALID',
      'This request was answered already, or is older than ten minutes. Log in again in the program.',
    );
  }

  function createCode(request: LoginRequest, name: string): string {
    const code = randomBytes(32).toString('base64url');
    const until = clock.monotonic() + codeMs;
    setBounded(codes, keyOf(code), { request, name, until, used: undefined }, maxCodes);
    return code;
  }

  /** A code that comes twice may be stolen, so the token that it gave is revoked (RFC 6749, section 4.1.2). */
  async function revokeUsed({ name, used }: Code): Promise<void> {
    try {
      await clients.revoke(name, used);
      log.warn({ client: name }, 'a code of a login came twice: its token is revoked');
    } catch (error) {
      log.info({ client: name, error: messageOf(error) }, 'its token was revoked before');
    }
  }

  return {
    /** Registers a program at the origin of the hub that it uses. Stores nothing. */
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
    /** Keeps a request for a decision, and returns the id that the decision must have. */
    ask(request: LoginRequest): string {
      const id = randomBytes(32).toString('base64url');
      setBounded(requests, id, { request, until: clock.monotonic() + decisionMs }, maxRequests);
      return id;
    },
    /** The request with this id. Throws HUB_REQUEST_INVALID if it does not wait for a decision. */
    pending,
    /** A name for the program that it can have. */
    suggestName({ client, clientId }: LoginRequest): string {
      const base = nameFrom(client.name);
      const digest = digestOf(clientId).toString('hex');
      for (let count = 1; count < 100; count++) {
        const name = count === 1 ? base : `${base}-${count}`;
        if (clients.whyNotByLogin(name, digest) === undefined) return name;
      }
      return '';
    },
    /** Why the program cannot have this name. */
    whyNot: ({ clientId }: LoginRequest, name: string) =>
      clients.whyNotByLogin(name, digestOf(clientId).toString('hex')),
    /** Lets the program in. Returns the address that tells it. Throws HubError. */
    allow(id: string, name: string, principal: string): string {
      const request = pending(id);
      const why = clients.whyNotByLogin(name, digestOf(request.clientId).toString('hex'));
      if (why !== undefined) throw new HubError('HUB_CONFIG_CONFLICT', `name: ${why}`);
      requests.delete(id);
      audit({ action: 'client_login_allowed', principal, target: name, details: claims(request) });
      return answerAddress(request, { code: createCode(request, name) });
    },
    /** Refuses the program. Returns the address that tells it. Throws HubError. */
    deny(id: string, principal: string): string {
      const request = pending(id);
      requests.delete(id);
      const target = nameFrom(request.client.name);
      audit({ action: 'client_login_denied', principal, target, details: claims(request) });
      return answerAddress(request, {
        error: 'access_denied',
        error_description: 'The owner of the hub denied it',
      });
    },
    /** Exchanges a code for a token (RFC 6749, section 4.1.3). A code is used up by any attempt. */
    async exchange(form: URLSearchParams): Promise<Granted | OAuthRefusal> {
      const twice = [...form.keys()].find(
        name => name !== 'resource' && form.getAll(name).length > 1,
      );
      if (twice !== undefined) return refusal('invalid_request', 'a parameter stands twice');
      if (form.get('grant_type') !== 'authorization_code')
        return refusal('unsupported_grant_type', 'grant_type must be authorization_code');
      const clientId = form.get('client_id') ?? '';
      if (!ids.read(clientId)) return refusal('invalid_client', 'this hub made no such client_id');
      const key = keyOf(form.get('code') ?? '');
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
    const digest = digestOf(token).toString('hex');
    const login = {
      client: digestOf(request.clientId).toString('hex'),
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
  // Requests of OAuth 2.1 have none, as PKCE proves more.
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

/** The first part of a name that a program calls itself, as a name of a client: `claude-code` of `Claude Code (hub)`. */
function nameFrom(claimed: string): string {
  const words = claimed
    .replace(/\(.*/s, '')
    .toLowerCase()
    .replaceAll(/[^\w]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 28);
  return words === '' ? 'program' : words;
}

/** What the audit log says of a program: its own claims. */
const claims = ({ client, redirect }: LoginRequest) => ({
  program: client.name,
  redirect: redirect.split('?')[0] ?? '',
});

const keyOf = (code: string) => digestOf(code).toString('base64');

const refusal = (error: string, description: string): OAuthRefusal => ({
  error,
  error_description: description,
});
