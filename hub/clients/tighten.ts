import { type Loosening, findLoosenings, variablesIn } from '#config';
import { type Json, type JsonObject, HubError } from '#core';
import type { ImportItem, ImportNeeds, ImportPlan } from './import-plan.ts';

/** Says whether a server, by the name that the hub gives it, may have a setting beyond the default sandbox. */
export type Allows = (server: string, loosening: Loosening) => boolean;

/**
 * The plan without the loosenings that are not allowed: each is left out of its entry, and a server whose entry
 * cannot be without one is not added. Nothing is written.
 */
export async function tighten(
  plan: ImportPlan,
  allows: Allows,
  { config, configFile, editorWith }: Pick<ImportNeeds, 'config' | 'configFile' | 'editorWith'>,
): Promise<ImportPlan> {
  const editor = editorWith(plan.variables);
  const items: ImportItem[] = [];
  for (const item of plan.items) {
    const refused =
      item.action === 'add' ? item.loosenings.filter(one => !allows(item.name, one)) : [];
    if (item.action !== 'add' || refused.length === 0) {
      items.push(item);
      continue;
    }
    const entry = withoutLoosenings(item, refused);
    const needed = refused.filter(({ name }) => isNeeded(name, entry));
    if (needed.length > 0) {
      items.push({ found: item.found, action: 'skip', why: cannotBeWithout(item.name, needed) });
      continue;
    }
    try {
      const server = await editor.preview(configFile, item.name, entry);
      const left = new Set(findLoosenings(entry, server, config.servers).map(({ name }) => name));
      const loosenings = item.loosenings.filter(({ name }) => left.has(name));
      items.push({ ...item, entry, server, loosenings, dropped: refused });
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      items.push({ found: item.found, action: 'skip', why: error.message });
    }
  }
  const entries = items.flatMap(item => (item.action === 'add' ? [item.entry] : []));
  const used = new Set(entries.flatMap(entry => variablesOf(entry)));
  return { items, variables: plan.variables.filter(({ name }) => used.has(name)) };
}

type Added = Extract<ImportItem, { readonly action: 'add' }>;

/** The entry as `translate` writes it, without what these loosenings are made of. */
function withoutLoosenings({ entry, server }: Added, refused: readonly Loosening[]): JsonObject {
  const names = new Set(refused.map(({ name }) => name));
  const kinds = new Set(refused.map(({ kind }) => kind));
  const isRefused = (text: Json | undefined) =>
    typeof text === 'string' && variablesIn(text).some(name => names.has(`variable:${name}`));
  const { network, user, mounts, volumes, env, headers, allow_sensitive: word, ...rest } = entry;
  const sources = server.launch.kind === 'local' ? server.launch.sandbox.mounts : [];
  const keptMounts = (Array.isArray(mounts) ? mounts : []).filter((_, index) => {
    const { source = '', target = '', readOnly = true } = sources[index] ?? {};
    return !names.has(`mount:${source}:${target}:${readOnly ? 'ro' : 'rw'}`);
  });
  const kept = (
    texts: Json | undefined,
    isKept: (name: string, text: Json | undefined) => boolean,
  ): JsonObject =>
    Object.fromEntries(
      Object.entries(objectOf(texts)).filter(([name, text]) => isKept(name, text)),
    );
  return withoutEmpty({
    ...rest,
    ...(network !== undefined && !kinds.has('network') && { network }),
    ...(user !== undefined && !kinds.has('user') && { user }),
    ...(word !== undefined && !kinds.has('sensitive') && { allow_sensitive: word }),
    mounts: keptMounts,
    volumes: kept(volumes, name => !names.has(`volume:${name}`)),
    env: kept(env, (_, text) => !isRefused(text)),
    headers: kept(headers, (name, text) => !names.has(`header:${name}`) && !isRefused(text)),
  });
}

const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};

const withoutEmpty = (entry: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(entry).filter(
      ([key, value]) =>
        !['mounts', 'volumes', 'env', 'headers'].includes(key) ||
        (typeof value === 'object' && value !== null && Object.keys(value).length > 0),
    ),
  );

/** True where the entry still has it: in an argument, or as its address. */
function isNeeded(name: string, entry: JsonObject): boolean {
  if (name.startsWith('variable:'))
    return variablesOf(entry).includes(name.slice('variable:'.length));
  const { url } = entry;
  return typeof url === 'string' && name === `url:${url}`;
}

const variablesOf = (value: Json | undefined): readonly string[] => {
  if (typeof value === 'string') return variablesIn(value);
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(inside => variablesOf(inside));
};

const cannotBeWithout = (server: string, needed: readonly Loosening[]) =>
  `it cannot run without ${needed.map(({ name }) => name).join(', ')}, which was not allowed. Add ${needed.map(({ name }) => `--allow '${server}/${name}'`).join(' ')}`;
