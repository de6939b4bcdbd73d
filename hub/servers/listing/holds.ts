import type { ServerConfig } from '#config';
import type { Definitions } from '#definitions';
import type { Item, ListKind, Listing } from './listing.ts';

/** The pinned definitions, as far as servers use them. */
export type DefinitionGuard = Pick<Definitions, 'seen' | 'heldIn' | 'mayHold' | 'changed'>;

/** The key of a held item. */
export const heldKey = (kind: 'tool' | 'prompt' | 'instructions', name: string): string =>
  `${kind} ${name}`;

const isPinned = (kind: ListKind): kind is 'tool' | 'prompt' =>
  kind === 'tool' || kind === 'prompt';

/** Compares definitions when lists are read, so that calls only look up a name. Absent `guard`: nothing is held. */
export function createHolds(config: () => ServerConfig, guard: DefinitionGuard | undefined) {
  const byList = new Map<'tool' | 'prompt' | 'instructions', ReadonlySet<string>>();
  let all: ReadonlySet<string> | undefined;

  function set(kind: 'tool' | 'prompt' | 'instructions', names: readonly string[]): void {
    byList.set(kind, new Set(names.map(name => heldKey(kind, name))));
    const keys = [...byList.values()].flatMap(held => [...held]);
    all = keys.length > 0 ? new Set(keys) : undefined;
  }

  const heldOf = (kind: 'tool' | 'prompt', items: readonly Pick<Item, 'key' | 'bytes'>[]) =>
    guard?.heldIn(config(), { tool: [], prompt: [], instructions: undefined, [kind]: items }) ?? [];

  return {
    /** Keys of the held items (`heldKey`); undefined if there are none, which is the usual case. */
    get keys(): ReadonlySet<string> | undefined {
      return all;
    },
    /** The items of a list that was read, with what is held. */
    mark(kind: ListKind, items: readonly Item[]): readonly Item[] {
      if (!guard || !isPinned(kind)) return items;
      const names = new Set(heldOf(kind, items).map(({ name }) => name));
      set(kind, [...names]);
      if (names.size === 0 && items.every(({ isHeld }) => !isHeld)) return items;
      return items.map(item =>
        names.has(item.key) === (item.isHeld === true)
          ? item
          : { ...item, isHeld: names.has(item.key) },
      );
    },
    /** Notes the instructions of a server that has started. */
    instructed(instructions: string | undefined): void {
      const held = guard?.heldIn(config(), { tool: [], prompt: [], instructions }) ?? [];
      set(
        'instructions',
        held.map(({ name }) => name),
      );
    },
    /** Pins a server that is seen first. */
    seen(listing: Listing, instructions: string | undefined): void {
      guard?.seen(config(), { tool: listing.tool, prompt: listing.prompt, instructions });
    },
    /** True if items of the server may be held, so that its own lists are filtered as they pass. */
    get mayHold(): boolean {
      return guard?.mayHold(config()) ?? false;
    },
    /** Whether an item in a list that passes is held. `known`: the item that the hub has read under its name. */
    holds(kind: 'tool' | 'prompt', name: string, bytes: Buffer, known: Item | undefined): boolean {
      if (known?.bytes.equals(bytes)) return known.isHeld === true;
      return heldOf(kind, [{ key: name, bytes }]).length > 0;
    },
    hear: (review: () => void): Disposable | undefined =>
      guard?.changed(names => {
        if (names.includes(config().name)) review();
      }),
  };
}
