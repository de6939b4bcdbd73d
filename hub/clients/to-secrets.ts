import { HubError, type JsonObject } from '#core';
import { changeVariables } from './entry-variables.ts';
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
  const entryOf = (entry: JsonObject) =>
    changeVariables(entry, (name, text) => (names.has(name) ? `\${secret:${name}}` : text));
  const items = plan.items.map(item =>
    item.action === 'add' ? { ...item, entry: entryOf(item.entry) } : item,
  );
  return { items, variables: [], secrets };
}
