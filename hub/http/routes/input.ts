import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HubError, isObject, shortened, shown } from '#core';

export type Named = { readonly Params: { readonly name: string } };
export type Identified = { readonly Params: { readonly id: string } };

/** Parses the parameters of a query. Throws HUB_REQUEST_INVALID for unknown and repeated parameters. */
export function readQuery<K extends string>(
  { query, routeOptions }: FastifyRequest,
  names: readonly K[],
): { readonly [name in K]?: string } {
  const found: { [name in K]?: string } = {};
  for (const [name, value] of Object.entries(isObject(query) ? query : {})) {
    const known = names.find(one => one === name);
    if (known === undefined)
      throw invalid(
        `${shortened(name)}: is not a parameter of ${routeOptions.url}, which takes ${names.join(' and ') || 'none'}`,
      );
    if (typeof value !== 'string') throw invalid(`${name}: stands twice: write it once`);
    found[known] = value;
  }
  return found;
}

/** Parses a whole number within bounds. Throws HUB_REQUEST_INVALID for any other text. */
export function readWhole(
  name: string,
  text: string | undefined,
  { least, most }: { readonly least: number; readonly most: number },
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw invalid(
    `${name}: ${shown(text)} is not allowed: write a whole number from ${least} to ${most}`,
  );
}

/** Describes what is wrong with a member of a body: it is missing, or has this value. */
export const misfit = (value: unknown): string =>
  value === undefined ? 'is missing' : `${shown(value)} is not allowed`;

/** Parses a parameter that is set by its name alone, or by `true`. Throws HUB_REQUEST_INVALID for any other text. */
export function readFlag(name: string, value: unknown): boolean {
  if (value === undefined || value === 'false') return false;
  if (value === '' || value === 'true') return true;
  throw invalid(
    `${name}: ${shown(value)} is not allowed: write ?${name}, ?${name}=true or ?${name}=false`,
  );
}

/**
 * Returns the members of a body; none if the request has no body. Throws HUB_REQUEST_INVALID if the body is not an
 * object: without members such as `dry_run`, the request would do something other than its client meant.
 */
export function membersOf(body: unknown): { readonly [name: string]: unknown } {
  if (body === undefined || body === null || body === '') return {};
  if (isObject(body)) return body;
  throw invalid(`the body is not a JSON object, but ${shown(body)}: write its members in { }`);
}

/** Returns the members of a body that has no others. Throws HUB_REQUEST_INVALID. */
export function readMembers<K extends string>(
  body: unknown,
  names: readonly K[],
): { readonly [name in K]?: unknown } {
  const found: { [name in K]?: unknown } = {};
  for (const [name, value] of Object.entries(membersOf(body))) {
    const known = names.find(one => one === name);
    if (known === undefined)
      throw invalid(
        `${shortened(name)}: is not a member of this body, which takes ${names.join(', ')}`,
      );
    found[known] = value;
  }
  return found;
}

/** Reads an optional member of a body; false if it is absent. Throws HUB_REQUEST_INVALID. */
export function readBoolean(name: string, value: unknown = false): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid(`${name}: ${shown(value)} is not allowed: write true or false`);
}

/** Throws HUB_REQUEST_INVALID if a request has a body that its route does not accept. */
export function refuseBody(body: unknown, route: string): void {
  const members = Object.keys(membersOf(body));
  if (members.length === 0) return;
  throw invalid(`${route} takes no body; it had ${shortened(members.join(', '))}`);
}

/** Formats a time in milliseconds since the epoch for the REST API. */
export const timeOf = (ms: number): string => new Date(ms).toISOString();

/** Converts the keys of a value to those of the REST API: `tookMs` becomes `took_ms`. */
export function snakeCased(value: object): object {
  const change = (inside: unknown): unknown =>
    typeof inside === 'object' && inside !== null ? snakeCased(inside) : inside;
  if (Array.isArray(value)) return value.map(change);
  const entries = Object.entries(value).map(([key, inside]) => {
    const name = key.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
    return [name, change(inside)] as const;
  });
  return Object.fromEntries(entries);
}

/** Makes the routes of this scope receive request bodies as bytes. */
export function takeBytes(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
}

export const invalid = (message: string): HubError => new HubError('HUB_REQUEST_INVALID', message);
