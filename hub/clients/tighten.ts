import { type Loosening, findLoosenings, variablesIn } from '#config';
import { type Json, type JsonObject, HubError } from '#core';
import type { ImportItem, ImportNeeds, ImportPlan } from './import-plan.ts';

/** Whether a server (by its name in the hub) may have a setting beyond the default sandbox. */
export type IsAllowed = (server: string, loosening: Loosening) => boolean;

/**
 * Removes from a plan the loosenings that are not allowed. A server that cannot do without one is skipped.
 * Writes nothing.
 */
export async function tighten(
  plan: ImportPlan,
  isAllowed: IsAllowed,
  { config, configFile, editorWith }: Pick<ImportNeeds, 'config' | 'configFile' | 'editorWith'>,
): Promise<ImportPlan> {
  const editor = editorWith(plan.variables);
  const items: ImportItem[] = [];
  for (const item of plan.items) {
    const refused =
      item.action === 'add' ? item.loosenings.filter(one => !isAllowed(item.name, one)) : [];
    if (item.action !== 'add' || refused.length === 0) {
      items.push(item);
      continue;
    }
    const entry = withoutLoosenings(item, refused);
    const required = refused.filter(({ name }) => isRequired(name, entry));
    if (required.length > 0) {
      items.push({ found: item.found, action: 'skip', why: cannotBeWithout(item.name, required) });
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

/** The entry without the keys that cause these loosenings. */
function withoutLoosenings({ entry, server }: Added, refused: readonly Loosening[]): JsonObject {
  const names = new Set(refused.map(({ name }) => name));
  const kinds = new Set(refused.map(({ kind }) => kind));
  const isRefused = (text: Json | undefined) =>
    typeof text === 'string' && variablesIn(text).some(name => names.has(`variable:${name}`));
  const {
    network,
    user,
    mounts,
    volumes,
    env,
    headers,
    allow_sensitive: allowSensitive,
    ...rest
  } = entry;
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
    ...(allowSensitive !== undefined &&
      !kinds.has('sensitive') && { allow_sensitive: allowSensitive }),
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

/** Whether the entry still contains the loosening: as a variable in an argument, or as its URL. */
function isRequired(name: string, entry: JsonObject): boolean {
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

const cannotBeWithout = (server: string, required: readonly Loosening[]) =>
  `it cannot run without ${required.map(({ name }) => name).join(', ')}, which was not allowed. Add ${required.map(({ name }) => `--allow '${server}/${name}'`).join(' ')}`;
