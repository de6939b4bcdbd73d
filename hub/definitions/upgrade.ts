import { copyPins, pinsOf } from './compare.ts';
import { isSameButForOrder, pinnedKinds } from './definition.ts';
import { type DefinitionLine, diffDefinitions } from './definition-diff.ts';
import type { NamedDefinition } from './flags.ts';
import type { DefinitionPin, ServerPins } from './lock.ts';

/** A definition that another version of a server adds, changes or removes. */
export type DefinitionChange = {
  readonly kind: NamedDefinition['kind'];
  /** Name of the item; `instructions` for the server's instructions. */
  readonly name: string;
  readonly change: 'added' | 'changed' | 'removed';
  readonly diff: readonly DefinitionLine[];
};

const keyOf = ({ kind, name }: Pick<NamedDefinition, 'kind' | 'name'>) => `${kind} ${name}`;

/** Returns the accepted definitions of a server. Omits items that are not in `listed`, unless `listed` is empty. */
export function acceptedIn(
  { pins }: ServerPins,
  listed: readonly NamedDefinition[],
): readonly NamedDefinition[] {
  const now = new Set(listed.map(keyOf));
  return pinnedKinds.flatMap(kind =>
    Array.from(pins[kind]).flatMap(([name, { accepted }]) =>
      accepted && (now.size === 0 || now.has(keyOf({ kind, name })))
        ? [{ kind, name, definition: accepted }]
        : [],
    ),
  );
}

/** Returns the differences between two versions in the order of the new one, with removed items at the end. */
export function changesBetween(
  before: readonly NamedDefinition[],
  after: readonly NamedDefinition[],
): readonly DefinitionChange[] {
  const known = new Map(before.map(one => [keyOf(one), one]));
  const offered = new Set(after.map(keyOf));
  const nameOf = ({ kind, name }: NamedDefinition) => (kind === 'instructions' ? kind : name);
  const changed = after.flatMap((one): readonly DefinitionChange[] => {
    const { kind, definition } = one;
    const old = known.get(keyOf(one))?.definition;
    if (old && isSameButForOrder(old, definition)) return [];
    const diff = diffDefinitions(old?.value, definition.value);
    return [{ kind, name: nameOf(one), change: old ? 'changed' : 'added', diff }];
  });
  const removed = before
    .filter(one => !offered.has(keyOf(one)))
    .map(one => ({ kind: one.kind, name: nameOf(one), change: 'removed', diff: [] }) as const);
  return [...changed, ...removed];
}

/** Returns the pins of a new version that a person accepted. Definitions that were rejected before stay rejected. */
export function pinsAfter(
  before: ServerPins | undefined,
  entry: string,
  definitions: readonly NamedDefinition[],
): ServerPins {
  const rejectedOf = ({ kind, name }: NamedDefinition) =>
    before?.pins[kind].get(name)?.rejected ?? [];
  const isRejected = (one: NamedDefinition) => rejectedOf(one).includes(one.definition.hash);
  const fresh = pinsOf(
    entry,
    definitions.filter(one => !isRejected(one)),
  );
  const pins = copyPins(fresh.pins);
  for (const one of definitions) {
    const rejected = rejectedOf(one);
    if (rejected.length === 0) continue;
    const pin: DefinitionPin = { ...pins[one.kind].get(one.name), rejected };
    pins[one.kind].set(one.name, pin);
  }
  return { entry, pins };
}
