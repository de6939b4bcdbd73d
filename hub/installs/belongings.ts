import type { ServerConfig } from '#config';
import { type Log, messageOf } from '#core';
import type { Belonging, LaunchEvents, LaunchSpec, Target, Upkeep } from '#runtimes';
import { withoutSecretFaults } from '#servers';
import type { Table } from '#store';

/** An image, volume or folder that a removal has left in place, and the reason. */
type Left = Belonging & { readonly why: string };

export type BelongingsNeeds = {
  /** Returns the launch spec of a config. Throws HubError if the config cannot be launched. */
  readonly specOf: (config: ServerConfig) => LaunchSpec;
  readonly upkeeps: Readonly<Partial<Record<Target['kind'], Upkeep>>>;
};

/** The images, volumes and folders of one server. */
export type Belongings = ReturnType<typeof belongingsOf>;

/** Returns the belongings of a server; none if its runtime keeps nothing. Throws HubError like `specOf`. */
export function belongingsOf(config: ServerConfig, needs: BelongingsNeeds) {
  const spec = needs.specOf(config);
  const { kind } = spec.target;
  const upkeep = needs.upkeeps[kind];
  return {
    kind,
    /** Lists the belongings that exist. Throws HubError if the runtime cannot list them. */
    list: async () => (await upkeep?.belongings(spec)) ?? [],
    /** Lists all belongings that the server may have. Throws HubError if they cannot be determined. */
    candidates: async () => (await upkeep?.candidates(spec)) ?? [],
    /** Removes belongings one by one. Never rejects: `left` lists those that could not be removed. */
    async discard(those: readonly Belonging[]) {
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
    /** Prepares the start of the server, such as by building its image. See `Upkeep.prepare` of the runtime. */
    prepare: async (events: LaunchEvents, signal: AbortSignal) =>
      (await upkeep?.prepare(spec, events, signal)) ?? {},
  };
}

/** Splits `mine` into those of this server only (`own`) and shared ones (`left`). Throws HubError if it cannot. */
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
    belongings = belongingsOf(withoutSecretFaults(config), needs);
  } catch (error) {
    // It is unknown whether both servers share a volume, so the error stands. A shared image would only be rebuilt.
    if (config.launch.kind === 'local' && config.launch.sandbox.volumes.length > 0) throw error;
    return [];
  }
  return await belongings.candidates();
}

export type UnfinishedNeeds = BelongingsNeeds & {
  readonly log: Log;
  /** Records the belongings that running installs may create. If absent, nothing is recorded. */
  readonly unfinished?: Table;
  readonly configFile: { readonly configs: () => readonly ServerConfig[] };
};

/**
 * Records the belongings that running installs may create, before they create them. If the hub is killed meanwhile,
 * its next run removes these belongings. The belongings of an existing config entry are never recorded.
 */
export function createUnfinished(needs: UnfinishedNeeds) {
  const { log, unfinished: table, upkeeps } = needs;

  async function end(those: readonly Belonging[]): Promise<void> {
    for (const one of those) await table?.remove(keyOf(one));
  }

  async function remove(one: Belonging, kind: string): Promise<void> {
    const { own } = await ownOf([one], needs.configFile.configs(), needs);
    const upkeep = kind === 'docker' || kind === 'process' ? upkeeps[kind] : undefined;
    if (own.length > 0) await upkeep?.discard(one);
    await end([one]);
    if (own.length > 0) log.info(one, 'removed the remains of an interrupted install');
  }

  return {
    async begin(kind: Belongings['kind'], those: readonly Belonging[]): Promise<void> {
      for (const one of those) await table?.put(keyOf(one), kind);
    },
    /** Deletes the records of belongings that were removed or belong to a config entry now. Never rejects. */
    end,
    /** Removes the recorded belongings that no config entry has. If that fails, they stay recorded. Never rejects. */
    async clear(): Promise<void> {
      for (const [key, kind] of (await table?.entries()) ?? []) {
        const one = belongingOf(key);
        try {
          if (one) await remove(one, kind);
          else await table?.remove(key);
        } catch (error) {
          log.warn(
            { ...one, problem: messageOf(error) },
            'the remains of an interrupted install could not be removed; the next start tries again',
          );
        }
      }
    },
  };
}

function belongingOf(key: string): Belonging | undefined {
  const [, kind, name = ''] = /^(image|volume|folder) (.+)$/s.exec(key) ?? [];
  return kind === 'image' || kind === 'volume' || kind === 'folder' ? { kind, name } : undefined;
}
