import type { ImportItem, ImportPlan } from '#clients';
import { HubError } from '#core';
import type { ClientCommandNeeds } from './client-change.ts';
import type { Io, Values } from './command.ts';
import { textsOf } from './values.ts';

type Added = Extract<ImportItem, { readonly action: 'add' }>;
type Loosening = Added['loosenings'][number];
/** True if a server may have a setting beyond the default sandbox. */
export type Allowed = (server: string, loosening: Pick<Loosening, 'name'>) => boolean;

/**
 * The settings that `--allow` names, for one server (`SERVER/NAME`) or for all imported servers (`NAME`). Throws
 * HUB_USAGE for a name that no server of the plan asks for.
 */
export function allowedBy(plan: ImportPlan, values: Values): Allowed {
  const allowed = new Set(textsOf(values, 'allow'));
  const asked = plan.items.flatMap(item =>
    item.action === 'add' ? item.loosenings.map(({ name }) => [item.name, name] as const) : [],
  );
  const known = new Set(asked.flatMap(([server, name]) => [name, `${server}/${name}`]));
  const unknown = [...allowed].find(name => !known.has(name));
  if (unknown !== undefined)
    throw new HubError(
      'HUB_USAGE',
      `--allow: no server of this import asks for ${JSON.stringify(unknown)}. They ask for ${asked.map(([server, name]) => `${server}/${name}`).join(', ') || 'nothing beyond the default sandbox'}`,
    );
  return (server, { name }) => allowed.has(name) || allowed.has(`${server}/${name}`);
}

/** Asks for each setting that `--allow` does not name. Any answer but "yes" means no. */
export async function askForEach(
  plan: ImportPlan,
  allowed: Allowed,
  { ask, io }: Pick<ClientCommandNeeds, 'ask'> & { readonly io: Io },
): Promise<Allowed> {
  const agreed = new Set<string>();
  for (const item of plan.items) {
    if (item.action !== 'add') continue;
    for (const one of item.loosenings) {
      if (allowed(item.name, one)) continue;
      const shown = (text: string) => io.errorScreen.foreign(text).replaceAll('\n', ' ');
      io.err(shown(`${item.name}: ${one.message}`));
      const question = shown(`Allow ${one.name} for ${item.name}? [y/N] `);
      const answer = (await ask?.(question, io.signal)) ?? '';
      if (/^y(?:es)?$/i.test(answer.trim())) agreed.add(`${item.name}/${one.name}`);
    }
  }
  return (server, one) => allowed(server, one) || agreed.has(`${server}/${one.name}`);
}
