import { basename } from 'node:path';
import { isObject } from '#core';
import type { ClientMachine } from './client/client.ts';
import { type ConnectTarget, serversIn, sourceOf } from './connect-plan.ts';
import { type HubAddress, isConnectEntry, tokenVariable } from './hub-entry.ts';

/**
 * Returns the tokens in entries of a client's file that `connect` wrote, by the entries' names. Rejects as `serversIn`
 * does.
 */
export async function tokensOfHub(
  target: ConnectTarget,
  hub: Pick<HubAddress, 'url'>,
  machine: ClientMachine,
): Promise<ReadonlyMap<string, string>> {
  const servers = await serversIn(await sourceOf(target, machine), target.client);
  const found = Object.entries(servers).flatMap(([name, entry]) => {
    const token = isConnectEntry(name, entry, hub) ? tokenInEntry(entry) : undefined;
    return token === undefined ? [] : [[name, token] as const];
  });
  return new Map(found);
}

/** Returns the bearer token in an entry. Undefined if the entry has none, or refers to a variable. */
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
 * Returns the name under which the hub stores a client's token. It contains the folder for the file of a workspace,
 * because each name has only one token.
 */
export function tokenNameOf(
  { client, scope }: Pick<ConnectTarget, 'client' | 'scope'>,
  folder: string,
): string {
  if (scope === 'user') return client;
  const place = basename(folder).replaceAll(/[^\w-]+/g, '-');
  return `${client}-${place}`.slice(0, maxNameLength);
}
