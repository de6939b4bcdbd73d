import { usesOf } from './entry-variables.ts';
import type { ImportItem, ImportPlan } from './import-plan.ts';

/** Removes keys that no added entry uses from a plan, and duplicates of servers that are no longer added. */
export function settle(plan: ImportPlan): ImportPlan {
  const added = plan.items.filter(item => item.action === 'add');
  const names = new Set(added.map(({ name }) => name));
  const used = new Set(added.flatMap(({ entry }) => usesOf(entry)));
  const isUsed = ({ name }: { readonly name: string }) => used.has(name);
  return {
    items: plan.items.map((item): ImportItem => {
      if (item.action !== 'present' || !item.twin || names.has(item.name)) return item;
      const why = `it is the same server as "${item.twin.name}", which is not added`;
      return { found: item.found, action: 'skip', why };
    }),
    variables: plan.variables.filter(isUsed),
    ...(plan.secrets && { secrets: plan.secrets.filter(isUsed) }),
  };
}
