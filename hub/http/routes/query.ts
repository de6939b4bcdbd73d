import type { FastifyRequest } from 'fastify';
import { HubError, isObject } from '#core';

/** Parses the parameters of a query. Throws HUB_REQUEST_INVALID for unknown and repeated ones. */
export function readQuery<K extends string>(
  { query, routeOptions }: FastifyRequest,
  names: readonly K[],
): { readonly [name in K]?: string } {
  const found: { [name in K]?: string } = {};
  for (const [name, value] of Object.entries(isObject(query) ? query : {})) {
    const known = names.find(one => one === name);
    if (known === undefined)
      throw invalid(
        `${name}: is no parameter of ${routeOptions.url}, which takes ${names.join(' and ')}`,
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
    `${name}: ${JSON.stringify(text.slice(0, 60))} is not allowed: write a whole number from ${least} to ${most}`,
  );
}

const invalid = (message: string) => new HubError('HUB_REQUEST_INVALID', message);
