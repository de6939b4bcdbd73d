import type { ServerConfig } from '#config';
import type { Definitions } from '#definitions';
import type { Item, ListKind, Listing } from './listing.ts';

/** The part of the pinned definitions of tools that servers use. */
export type DefinitionGuard = Pick<Definitions, 'seen' | 'heldIn' | 'mayHold' | 'changed'>;

/** Returns the key of a held item: an item that is hidden because its definition differs from the pinned one. */
export const heldKey = (kind: 'tool' | 'prompt' | 'instructions', name: string): string =>
  `${kind} ${name}`;

const isPinned = (kind: ListKind): kind is 'tool' | 'prompt' =>
  kind === 'tool' || kind === 'prompt';

/**
 * Compares definitions with the pinned ones when lists are read, so that calls only look up a name. Without `guard`,
 * nothing is held.
 */
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
    /** Keys of the held items (`heldKey`); undefined if there are none, as usual. */
    get keys(): ReadonlySet<string> | undefined {
      return all;
    },
    /** Returns the items of a list, with `isHeld` set for those whose definitions are not accepted. */
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
    /** Checks the instructions of a server that has started against the pinned ones. */
    instructed(instructions: string | undefined): void {
      const held = guard?.heldIn(config(), { tool: [], prompt: [], instructions }) ?? [];
      set(
        'instructions',
        held.map(({ name }) => name),
      );
    },
    /** Pins the definitions of a server that is seen for the first time. */
    seen(listing: Listing, instructions: string | undefined): void {
      guard?.seen(config(), { tool: listing.tool, prompt: listing.prompt, instructions });
    },
    /** True if items of the server may be held, so that the hub filters the lists that it relays. */
    get mayHold(): boolean {
      return guard?.mayHold(config()) ?? false;
    },
    /**
     * True if an item in a relayed list is held. `known`: the item with this name in the list that the hub has read.
     */
    holds(kind: 'tool' | 'prompt', name: string, bytes: Buffer, known: Item | undefined): boolean {
      if (known?.bytes.equals(bytes)) return known.isHeld === true;
      return heldOf(kind, [{ key: name, bytes }]).length > 0;
    },
    hear: (review: () => void): Disposable | undefined =>
      guard?.changed(names => {
        if (names?.includes(config().name) ?? true) review();
      }),
  };
}
