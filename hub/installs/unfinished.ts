import type { ServerConfig } from '#config';
import { type Log, messageOf } from '#core';
import type { Belonging } from '#runtimes';
import type { Table } from '#store';
import { type Belongings, type BelongingsNeeds, type Left, keyOf, ownOf } from './belongings.ts';

/**
 * Records the belongings that running installs may create, before they create them. If the hub is killed meanwhile,
 * its next run removes these belongings. The belongings of an existing config entry are never recorded.
 */
export interface Unfinished {
  /** Resolves when the belongings are recorded. Never rejects. */
  begin(kind: Belongings['kind'], those: readonly Belonging[]): Promise<void>;
  /** Deletes the records of belongings that are removed or belong to an entry now. Never rejects. */
  end(those: readonly Belonging[]): Promise<void>;
  /**
   * Removes the recorded belongings, except those that an entry has. Belongings that cannot be removed stay recorded.
   * Never rejects.
   */
  clear(): Promise<void>;
}

type Needs = BelongingsNeeds & {
  readonly log: Log;
  /** If absent, nothing is recorded. */
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

/** Returns the members of `those` that are not in `left`. */
export const withoutLeft = (those: readonly Belonging[], left: readonly Left[]) => {
  const keys = new Set(left.map(keyOf));
  return those.filter(one => !keys.has(keyOf(one)));
};

/** Parses a key that `keyOf` wrote. */
function belongingOf(key: string): Belonging | undefined {
  const [, kind, name = ''] = /^(image|volume|folder) (.+)$/s.exec(key) ?? [];
  return kind === 'image' || kind === 'volume' || kind === 'folder' ? { kind, name } : undefined;
}
