import { basename } from 'node:path';
import { isObject } from '#core';
import type { ClientMachine } from './client/client.ts';
import { type ConnectTarget, serversIn, sourceOf } from './connect-plan.ts';
import { type HubAddress, pointsToHub, tokenVariable } from './hub-entry.ts';

/** The tokens of the hub in a client's file, by the names of their entries. Rejects as `serversIn` does. */
export async function tokensOfHub(
  target: ConnectTarget,
  hub: Pick<HubAddress, 'url'>,
  machine: ClientMachine,
): Promise<ReadonlyMap<string, string>> {
  const servers = await serversIn(await sourceOf(target, machine), target.client);
  const found = Object.entries(servers).flatMap(([name, entry]) => {
    const token = pointsToHub(entry, hub) ? tokenInEntry(entry) : undefined;
    return token === undefined ? [] : [[name, token] as const];
  });
  return new Map(found);
}

/** The bearer token that an entry contains as a value; undefined for a variable and without one. */
export function tokenInEntry(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined;
  const { headers, http_headers: httpHeaders, env } = entry;
  const texts = [headers, httpHeaders].flatMap(each =>
    isObject(each) ? [each['Authorization']] : [],
  );
  const [, token] = /^Bearer ([^\s$]+)$/.exec(texts.map(String).join('')) ?? [];
  const inEnv = isObject(env) ? env[tokenVariable] : undefined;
  return token ?? (typeof inEnv === 'string' && !inEnv.includes('$') ? inEnv : undefined);
}

const maxNameLength = 32;

/**
 * The name by which the hub knows a client: its own, with the folder for the file of a workspace, because each name has
 * one token.
 */
export function tokenNameOf(
  { client, scope }: Pick<ConnectTarget, 'client' | 'scope'>,
  folder: string,
): string {
  if (scope === 'user') return client;
  const place = basename(folder).replaceAll(/[^\w-]+/g, '-');
  return `${client}-${place}`.slice(0, maxNameLength);
}
