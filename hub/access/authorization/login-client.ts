import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject, tryParseJson } from '#core';
import { isLocalRedirect } from './redirects.ts';

/** A program that registered itself (RFC 7591). All of it but `issuer` is its own claim. */
export type LoginClient = {
  /** What it calls itself; empty if it has no name. */
  readonly name: string;
  readonly redirects: readonly string[];
  /** Origin of the hub at which it registered. */
  readonly issuer: string;
};

const maxNameChars = 80;
const maxRedirects = 5;
/** Longer than any id that the hub makes. */
const maxIdChars = 4_096;

/**
 * Ids of programs. An id contains the registration, signed with the secret of the hub: a registration takes no memory, so
 * there is nothing to fill, and nothing that a restart or a revoked login could forget while the program still has its id.
 */
export function createClientIds(secret: Buffer) {
  const sign = (text: string) =>
    createHmac('sha256', secret).update(`client of a login\n${text}`).digest();
  return {
    make({ name, redirects, issuer }: LoginClient): string {
      const text = Buffer.from(JSON.stringify([name, issuer, ...redirects])).toString('base64url');
      return `${text}.${sign(text).toString('base64url')}`;
    },
    /** Undefined for an id that this hub did not make. */
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
 * The name and the redirect addresses in the body of a registration. Only addresses on this machine are kept, as RFC 7591
 * (section 2) allows: clients register some of web services beside them. Returns why nothing can be registered otherwise.
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

/** A text without characters that are invisible or change the direction of others, and of bounded length. */
const plainText = (text: string) =>
  text
    .slice(0, maxNameChars * 4)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, maxNameChars);
