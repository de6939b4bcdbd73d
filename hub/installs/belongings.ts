import type { ServerConfig } from '#config';
import { type JsonObject, messageOf } from '#core';
import type { Belonging, LaunchEvents, LaunchSpec, Target, Upkeep } from '#runtimes';

/** What a removal did not remove, and why. */
export type Left = Belonging & { readonly why: string };

export type BelongingsNeeds = {
  /** How a config is launched. Throws HubError for what cannot be. */
  readonly specOf: (config: ServerConfig) => LaunchSpec;
  readonly upkeeps: Readonly<Partial<Record<Target['kind'], Upkeep>>>;
};

/** What there is of one server beside its instances. */
export interface Belongings {
  /** What it runs on. */
  readonly kind: Target['kind'];
  /** Throws HubError where it cannot be told. */
  list(): Promise<readonly Belonging[]>;
  /** All that it may have, whether it is there or not. Throws HubError where that cannot be told. */
  candidates(): Promise<readonly Belonging[]>;
  /** Removes them one by one; never rejects. */
  discard(those: readonly Belonging[]): Promise<{
    readonly removed: readonly Belonging[];
    readonly left: readonly Left[];
  }>;
  /** As of its runtime. */
  prepare(events: LaunchEvents, signal: AbortSignal): Promise<JsonObject>;
}

/** Of a server in any runtime; nothing where that keeps nothing for servers. Throws HubError as `specOf` does. */
export function belongingsOf(config: ServerConfig, needs: BelongingsNeeds): Belongings {
  const spec = needs.specOf(config);
  const upkeep = needs.upkeeps[spec.target.kind];
  return {
    kind: spec.target.kind,
    candidates: async () => (await upkeep?.candidates(spec)) ?? [],
    list: async () => (await upkeep?.belongings(spec)) ?? [],
    async discard(those) {
      const removed: Belonging[] = [];
      const left: Left[] = [];
      for (const one of those) {
        try {
          await upkeep?.discard(one);
          removed.push(one);
        } catch (error) {
          left.push({ ...one, why: messageOf(error) });
        }
      }
      return { removed, left };
    },
    prepare: async (events, signal) => (await upkeep?.prepare(spec, events, signal)) ?? {},
  };
}

/**
 * Those of `mine` that no other server has too, and those that are left to others. Throws HubError where that
 * cannot be told.
 */
export async function ownOf(
  mine: readonly Belonging[],
  others: readonly ServerConfig[],
  needs: BelongingsNeeds,
): Promise<{ readonly own: readonly Belonging[]; readonly left: readonly Left[] }> {
  const own = new Map(mine.map(one => [keyOf(one), one]));
  const left: Left[] = [];
  for (const other of own.size > 0 ? others : [])
    for (const one of await candidatesIfAny(other, needs))
      if (own.delete(keyOf(one))) left.push({ ...one, why: `the server ${other.name} has it too` });
  return { own: [...own.values()], left };
}

export const keyOf = ({ kind, name }: Belonging) => `${kind} ${name}`;

/** A config that cannot be launched has nothing. */
async function candidatesIfAny(
  config: ServerConfig,
  needs: BelongingsNeeds,
): Promise<readonly Belonging[]> {
  let belongings: Belongings;
  try {
    belongings = belongingsOf(config, needs);
  } catch {
    // An entry that cannot be launched owns nothing.
    return [];
  }
  return await belongings.candidates();
}
