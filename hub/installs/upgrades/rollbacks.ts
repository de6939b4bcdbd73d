import { isObject, tryParseJson } from '#core';
import { type ServerPins, lockText, parseLock } from '#definitions';
import type { Table } from '#store';

/** What the rollback of one upgrade restores. */
export type RollbackStep = {
  /** Packages before and after the upgrade, in the notation of config entries. */
  readonly from: string;
  readonly to: string;
  /** Time of the upgrade, in milliseconds since the epoch. */
  readonly at: number;
  /** Accepted definitions of version `from`; undefined if they were not pinned. */
  readonly pins: ServerPins | undefined;
};

/** Maximum number of servers whose upgrades are remembered. */
export const maxRollbacks = 1_000;
/** Maximum number of consecutive upgrades of a server that can be rolled back. */
const maxSteps = 3;

/** Stores the upgrades that can be rolled back, in a file of the data folder. */
export function createRollbacks(table: Table) {
  async function stepsOf(server: string): Promise<readonly RollbackStep[]> {
    const text = await table.find(server);
    const found = text === undefined ? undefined : tryParseJson(text);
    return Array.isArray(found) ? found.flatMap(one => stepIn(server, one)) : [];
  }

  const write = (server: string, steps: readonly RollbackStep[]) =>
    steps.length === 0
      ? table.remove(server)
      : table.put(server, JSON.stringify(steps.map(step => stored(server, step))));

  return {
    /** Returns the rollback steps from the current package, the nearest first, without those of other versions. */
    async chain(server: string, current: string): Promise<readonly RollbackStep[]> {
      const steps = (await stepsOf(server)).toReversed();
      const chain: RollbackStep[] = [];
      let at = current;
      for (const step of steps) {
        if (step.to !== at) continue;
        chain.push(step);
        at = step.from;
      }
      return chain;
    },
    /** Adds a step. Resolves with a function that removes it again. */
    async add(server: string, step: RollbackStep): Promise<() => Promise<void>> {
      const before = await stepsOf(server);
      await write(server, [...before, step].slice(-maxSteps));
      return async () => void (await write(server, before));
    },
    async remove(server: string, step: RollbackStep): Promise<void> {
      const left = (await stepsOf(server)).filter(
        one => one.at !== step.at || one.to !== step.to || one.from !== step.from,
      );
      await write(server, left);
    },
  };
}

const stored = (server: string, { pins, ...step }: RollbackStep) => ({
  ...step,
  ...(pins && { lock: lockText(new Map([[server, pins]])) }),
});

function stepIn(server: string, value: unknown): readonly RollbackStep[] {
  if (!isObject(value)) return [];
  const { from, to, at, lock } = value;
  if (typeof from !== 'string' || typeof to !== 'string' || typeof at !== 'number') return [];
  return [{ from, to, at, pins: typeof lock === 'string' ? pinsIn(server, lock) : undefined }];
}

function pinsIn(server: string, lock: string): ServerPins | undefined {
  try {
    return parseLock(lock, 'rollbacks.json').get(server);
  } catch {
    return undefined; // The file was edited, so the definitions are pinned again.
  }
}
