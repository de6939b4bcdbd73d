import type { LoginClient } from './login-client.ts';
import { isLoopback } from '#core';
import { isRegistered } from './redirects.ts';

/** Authorization request of a program, which a browser sends (RFC 6749, section 4.1.1). */
export type LoginRequest = {
  readonly clientId: string;
  readonly client: LoginClient;
  readonly redirect: string;
  readonly state: string | undefined;
  /** PKCE challenge: SHA-256 of the verifier in base64url (RFC 7636). */
  readonly challenge: string;
};

type ReadRequest =
  | { readonly kind: 'asked'; readonly request: LoginRequest }
  /** The redirect address cannot be trusted, so the error is shown in the browser only. */
  | { readonly kind: 'invalid'; readonly message: string }
  /** `redirect`: address that reports the error to the program. */
  | { readonly kind: 'refused'; readonly redirect: string; readonly message: string };

const maxStateChars = 2_048;
const once = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'code_challenge',
  'code_challenge_method',
] as const;

/** Parses the query of an authorization request. */
export function readLoginRequest(
  query: URLSearchParams,
  findClient: (id: string) => LoginClient | undefined,
): ReadRequest {
  const twice = once.find(name => query.getAll(name).length > 1);
  if (twice !== undefined) return invalid(`The address has ${twice} twice.`);
  const clientId = query.get('client_id') ?? '';
  const client = findClient(clientId);
  if (!client)
    return invalid(
      'This hub does not know the program. Make it forget its login to the hub ("Clear authentication"), and log in again.',
    );
  const redirect = query.get('redirect_uri') ?? '';
  if (!isRegistered(redirect, client.redirects))
    return invalid(
      `The program did not register the redirect address ${JSON.stringify(redirect.slice(0, 300))}.`,
    );
  const state = query.get('state') ?? undefined;
  const request = { clientId, client, redirect, state, challenge: '' };
  const refuse = (error: string, message: string): ReadRequest => ({
    kind: 'refused',
    redirect: answerAddress(request, { error, error_description: message }),
    message,
  });
  if ((state?.length ?? 0) > maxStateChars)
    return invalid(`The state of the program is longer than ${maxStateChars} characters.`);
  if (query.get('response_type') !== 'code')
    return refuse('unsupported_response_type', 'response_type must be code');
  const challenge = query.get('code_challenge') ?? '';
  if (query.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge))
    return refuse('invalid_request', 'PKCE is required, with code_challenge_method=S256');
  if (!query.getAll('resource').every(resource => isOfHub(resource, client.issuer)))
    return refuse('invalid_target', `resource must be an MCP endpoint of ${client.issuer}`);
  return { kind: 'asked', request: { ...request, challenge } };
}

/** Returns the redirect address with the answer, the state and the issuer (RFC 9207). */
export function answerAddress(
  { redirect, state, client }: Pick<LoginRequest, 'redirect' | 'state' | 'client'>,
  answer: Readonly<Record<string, string>>,
): string {
  const url = new URL(redirect);
  for (const [name, value] of Object.entries({
    ...answer,
    ...(state !== undefined && { state }),
    iss: client.issuer,
  }))
    url.searchParams.set(name, value);
  return url.href;
}

/**
 * True if a resource indicator (RFC 8707) is an MCP endpoint of the hub at this origin. All loopback names are equal,
 * as a program may have registered with another of them.
 */
export function isOfHub(resource: string, issuer: string): boolean {
  const [asked, own] = [URL.parse(resource), URL.parse(issuer)];
  if (!asked || !own || asked.hash !== '' || asked.username !== '') return false;
  const isSameHost =
    asked.host === own.host ||
    (asked.port === own.port && isLoopback(asked.hostname) && isLoopback(own.hostname));
  return isSameHost && /^\/(?:(?:mcp|sse)(?:\/[^/]*)?)?$/.test(asked.pathname);
}

const invalid = (message: string): ReadRequest => ({ kind: 'invalid', message });
