import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject, tryParseJson } from '#core';
import { isLocalRedirect } from './redirects.ts';

/** A program that registered itself (RFC 7591). All fields but `issuer` are claims of the program. */
export type LoginClient = {
  /** Name that the program gave; empty if it gave none. */
  readonly name: string;
  readonly redirects: readonly string[];
  /** Origin of the hub at which it registered. */
  readonly issuer: string;
};

const maxNameChars = 80;
const maxRedirects = 5;
/** Maximum length of a client id that is parsed. The hub creates only shorter ids. */
const maxIdChars = 4_096;

/**
 * Creates and reads client ids. An id contains the registration, signed with the secret of the hub. So registrations
 * need no memory that a program could fill, and an id stays valid after a restart of the hub or a revoked login.
 */
export function createClientIds(secret: Buffer) {
  const sign = (text: string) =>
    createHmac('sha256', secret).update(`client of a login\n${text}`).digest();
  return {
    make({ name, redirects, issuer }: LoginClient): string {
      const text = Buffer.from(JSON.stringify([name, issuer, ...redirects])).toString('base64url');
      return `${text}.${sign(text).toString('base64url')}`;
    },
    /** Returns the registration in a client id; undefined for an id that this hub did not create. */
    read(id: string): LoginClient | undefined {
      const [text = '', signature = '', ...more] = id.length > maxIdChars ? [] : id.split('.');
      const given = Buffer.from(signature, 'base64url');
      const expected = sign(text);
      if (more.length > 0 || given.length !== expected.length) return undefined;
      if (!timingSafeEqual(given, expected)) return undefined;
      const parts = tryParseJson(Buffer.from(text, 'base64url').toString());
      if (!Array.isArray(parts) || !parts.every(part => typeof part === 'string')) return undefined;
      const [name = '', issuer = '', ...redirects] = parts;
      return { name, issuer, redirects };
    },
  };
}

/**
 * Returns the name and the redirect addresses of a registration request, or an error response. Only addresses on this
 * machine are registered, as RFC 7591 (section 2) allows: some clients also send addresses of web services.
 */
export function readRegistration(
  body: unknown,
): Omit<LoginClient, 'issuer'> | { readonly error: string; readonly error_description: string } {
  const { client_name: given, redirect_uris: uris } = isObject(body) ? body : {};
  const all = Array.isArray(uris) ? uris.filter(uri => typeof uri === 'string') : [];
  const redirects = [...new Set(all.filter(isLocalRedirect))].slice(0, maxRedirects);
  if (redirects.length === 0)
    return {
      error: 'invalid_redirect_uri',
      error_description:
        'redirect_uris has no address on this machine: register one such as http://127.0.0.1/callback. The port may differ later',
    };
  return { name: typeof given === 'string' ? plainText(given) : '', redirects };
}

/** Removes characters that are invisible or change the text direction, and limits the length. */
const plainText = (text: string) =>
  text
    .slice(0, maxNameChars * 4)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, maxNameChars);
