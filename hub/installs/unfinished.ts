import type { ServerConfig } from '#config';
import { type Log, messageOf } from '#core';
import type { Belonging } from '#runtimes';
import type { Table } from '#store';
import { type Belongings, type BelongingsNeeds, type Left, keyOf, ownOf } from './belongings.ts';

/**
 * What installs under way may make, written down before they make it: where the hub is killed meanwhile, its
 * next run removes that. What an entry of the config has had is never among it.
 */
export interface Unfinished {
  /** Resolves when those are written down. Never rejects. */
  begin(kind: Belongings['kind'], those: readonly Belonging[]): Promise<void>;
  /** Those are an entry's now, or gone. Never rejects. */
  end(those: readonly Belonging[]): Promise<void>;
  /** Removes what is written down, unless an entry has it. What cannot be removed stays written down. Never rejects. */
  clear(): Promise<void>;
}

type Needs = BelongingsNeeds & {
  readonly log: Log;
  /** Absent: nothing is written down. */
  readonly unfinished?: Table;
  readonly configs: () => readonly ServerConfig[];
};

export function createUnfinished(needs: Needs): Unfinished {
  const { log, unfinished: table, upkeeps } = needs;

  async function end(those: readonly Belonging[]): Promise<void> {
    for (const one of those) await table?.remove(keyOf(one));
  }

  async function remove(one: Belonging, kind: string): Promise<void> {
    const { own } = await ownOf([one], needs.configs(), needs);
    const upkeep = kind === 'docker' || kind === 'process' ? upkeeps[kind] : undefined;
    if (own.length > 0) await upkeep?.discard(one);
    await end([one]);
    if (own.length > 0) log.info(one, 'removed what an install that was cut off has left');
  }

  return {
    async begin(kind, those) {
      for (const one of those) await table?.put(keyOf(one), kind);
    },
    end,
    async clear() {
      for (const [key, kind] of (await table?.entries()) ?? []) {
        const one = belongingOf(key);
        try {
          if (one) await remove(one, kind);
          else await table?.remove(key);
        } catch (error) {
          log.warn(
            { ...one, problem: messageOf(error) },
            'what an install that was cut off has left is not removed: the next start tries it again',
          );
        }
      }
    },
  };
}

/** Those of `those` that are not among what is left. */
export const withoutLeft = (those: readonly Belonging[], left: readonly Left[]) => {
  const keys = new Set(left.map(keyOf));
  return those.filter(one => !keys.has(keyOf(one)));
};

/** As `keyOf` writes it. */
function belongingOf(key: string): Belonging | undefined {
  const [, kind, name = ''] = /^(image|volume|folder) (.+)$/s.exec(key) ?? [];
  return kind === 'image' || kind === 'volume' || kind === 'folder' ? { kind, name } : undefined;
}
