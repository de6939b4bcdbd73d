import type { ServerConfig } from '#config';
import { type JsonObject, messageOf } from '#core';
import type { Belonging, LaunchEvents, LaunchSpec, Target, Upkeep } from '#runtimes';

/** A belonging that a removal did not remove, and the reason. */
export type Left = Belonging & { readonly why: string };

export type BelongingsNeeds = {
  /** Returns the launch spec of a config. Throws HubError if the config cannot be launched. */
  readonly specOf: (config: ServerConfig) => LaunchSpec;
  readonly upkeeps: Readonly<Partial<Record<Target['kind'], Upkeep>>>;
};

/** The images, volumes and folders of one server. */
export interface Belongings {
  /** The kind of runtime that the server uses. */
  readonly kind: Target['kind'];
  /** Lists the belongings that exist. Throws HubError if the runtime cannot list them. */
  list(): Promise<readonly Belonging[]>;
  /**
   * Lists all belongings that the server may have, whether they exist or not. Throws HubError if they cannot be
   * determined.
   */
  candidates(): Promise<readonly Belonging[]>;
  /** Removes the belongings one by one. Never rejects. */
  discard(those: readonly Belonging[]): Promise<{
    readonly removed: readonly Belonging[];
    readonly left: readonly Left[];
  }>;
  /** See `Upkeep.prepare` of the runtime. */
  prepare(events: LaunchEvents, signal: AbortSignal): Promise<JsonObject>;
}

/**
 * Returns the belongings of a server in any runtime. They are empty if the runtime keeps nothing for servers. Throws
 * HubError as `specOf` does.
 */
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
 * Splits `mine` into belongings that no other server has (`own`) and those that another server has too (`left`).
 * Throws HubError if the belongings of another server cannot be determined.
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
