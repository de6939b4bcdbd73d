import { type Loosening, findLoosenings, variablesIn } from '#config';
import { HubError, type Json, type JsonObject } from '#core';
import { filled } from './filled.ts';
import { objectOf } from './folder-mounts.ts';
import type { ImportItem, ImportNeeds, ImportPlan } from './import-plan.ts';
import { settle } from './settle.ts';

/** Returns true if a server, by its name in the hub, may have a setting beyond the default sandbox. */
export type IsAllowed = (server: string, loosening: Loosening) => boolean;

/**
 * Removes settings that are not allowed from a plan. Skips a server that does not work without them. Writes nothing.
 */
export async function tighten(
  plan: ImportPlan,
  isAllowed: IsAllowed,
  { config, configFile, editorWith }: Pick<ImportNeeds, 'config' | 'configFile' | 'editorWith'>,
): Promise<ImportPlan> {
  const editor = editorWith(plan.variables);
  const items = await Array.fromAsync(plan.items, async item => {
    const refused =
      item.action === 'add' ? item.loosenings.filter(one => !isAllowed(item.name, one)) : [];
    if (item.action !== 'add' || refused.length === 0) return item;
    const { found, name } = item;
    const skip = (why: string): ImportItem => ({ found, action: 'skip', why });
    const entry = withoutLoosenings(item, refused);
    try {
      const server = await editor.preview(configFile, name, entry);
      const left = findLoosenings(entry, server, config.servers).map(one => one.name);
      const required = refused.filter(one => left.includes(one.name));
      if (required.length > 0) return skip(cannotBeWithout(name, required));
      const loosenings = item.loosenings.filter(one => left.includes(one.name));
      return { ...item, entry, server, loosenings, dropped: refused };
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      return skip(error.message);
    }
  });
  return settle({ ...plan, items });
}

type Added = Extract<ImportItem, { readonly action: 'add' }>;

/** Returns the entry without the keys that cause these loosenings. */
function withoutLoosenings({ entry, server }: Added, refused: readonly Loosening[]): JsonObject {
  const names = new Set(refused.map(({ name }) => name));
  const kinds = new Set(refused.map(({ kind }) => kind));
  const isRefused = (text: Json | undefined) =>
    typeof text === 'string' &&
    variablesIn(text).some(name => names.has(name) || names.has(`variable:${name}`));
  const {
    network,
    user,
    resources,
    mounts,
    volumes,
    env,
    headers,
    allow_sensitive: allowSensitive,
    ...rest
  } = entry;
  // Loosenings and mounts correspond by index, as each mount has one: targets are unique.
  const ofMounts = findLoosenings(entry, server).filter(({ kind }) => kind === 'mount');
  const keptMounts = (Array.isArray(mounts) ? mounts : []).filter(
    (_, index) => !names.has(ofMounts[index]?.name ?? ''),
  );
  const kept = (texts: Json | undefined, isKept: (name: string, text: Json) => boolean) =>
    Object.fromEntries(
      Object.entries(objectOf(texts)).filter(([name, text]) => isKept(name, text)),
    );
  const lists = {
    mounts: keptMounts,
    volumes: kept(volumes, name => !names.has(`volume:${name}`)),
    env: kept(env, (_, text) => !isRefused(text)),
    headers: kept(headers, (name, text) => !names.has(`header:${name}`) && !isRefused(text)),
  };
  return {
    ...rest,
    ...(network !== undefined && !kinds.has('network') && { network }),
    ...(user !== undefined && !kinds.has('user') && { user }),
    ...(resources !== undefined && !kinds.has('resources') && { resources }),
    ...(allowSensitive !== undefined &&
      !kinds.has('sensitive') && { allow_sensitive: allowSensitive }),
    ...filled(lists),
  };
}

const cannotBeWithout = (server: string, required: readonly Loosening[]) =>
  `it cannot run without ${required.map(({ name }) => name).join(', ')}, which was not allowed. Add ${required.map(({ name }) => `--allow '${server}/${name}'`).join(' ')}`;
