import { HubError, type Json, type JsonObject } from '#core';
import type { ImportPlan } from './import-plan.ts';
import type { Variable } from './secrets.ts';

/** Returns the value of a stored secret; undefined if there is none of this name. */
type FindSecret = (name: string) => Promise<string | undefined>;

/**
 * Changes a plan so that keys in clients' files become secrets of the hub instead of variables in `.env`. Entries refer
 * to them by `${secret:NAME}`. Writes nothing. Rejects with HUB_CONFIG_CONFLICT if a secret of that name has another
 * value.
 */
export async function toSecrets(plan: ImportPlan, find: FindSecret): Promise<ImportPlan> {
  const secrets: Variable[] = [];
  for (const variable of plan.variables) {
    const stored = await find(variable.name);
    if (stored !== undefined && stored !== variable.value)
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `the secret ${variable.name} exists already, with another value. Remove it with "agenthub secret remove ${variable.name}", or import with --keys env`,
      );
    if (stored === undefined) secrets.push(variable);
  }
  const names = new Set(plan.variables.map(({ name }) => name));
  const items = plan.items.map(item =>
    item.action === 'add' ? { ...item, entry: entryOf(item.entry, names) } : item,
  );
  return { items, variables: [], secrets };
}

const entryOf = (entry: JsonObject, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(entry).map(([key, value]) => [key, referring(value, names)] as const),
  );

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

/** Replaces references to variables by references to secrets. Skips `$$`, which is a literal dollar sign. */
function referring(value: Json, names: ReadonlySet<string>): Json {
  if (typeof value === 'string')
    return value.replaceAll(/\$\$|\$\{(\w+)\}/g, (text, name: string | undefined) =>
      name !== undefined && names.has(name) ? `\${secret:${name}}` : text,
    );
  if (isList(value)) return value.map(one => referring(one, names));
  return typeof value === 'object' && value !== null ? entryOf(value, names) : value;
}
