import { createHash } from 'node:crypto';
import type { ServerConfig } from '#config';
import {
  type Definition,
  type PinnedKind,
  definitionOf,
  instructionsDefinition,
  isSameButForOrder,
} from './definition.ts';
import type { NamedDefinition } from './flags.ts';
import type { DefinitionPin, ServerPins } from './lock.ts';

/** `new`: the item had no pin. `changed`: it differs from its pin. `rejected`: a person rejected this definition. */
type DefinitionState = 'new' | 'changed' | 'rejected';

/** A definition that differs from its pin. */
export type Deviation = NamedDefinition & {
  readonly state: DefinitionState;
  /** The pinned definition; undefined if none is pinned. */
  readonly before: Definition | undefined;
};

type OfferedItem = { readonly key: string; readonly bytes: Buffer };

/** The current definitions of a server. */
export type Offer = {
  readonly tool: readonly OfferedItem[];
  readonly prompt: readonly OfferedItem[];
  /** Undefined if the server has none, or is not running. */
  readonly instructions: string | undefined;
};

/** Digest of the package, image, command or URL of an entry. Contains no secrets. */
export const entryDigestFor = ({ origin = '' }: ServerConfig): string =>
  createHash('sha256').update(origin).digest('hex').slice(0, 16);

export function definitionsIn({ instructions, ...lists }: Offer): readonly NamedDefinition[] {
  const listed = (['tool', 'prompt'] as const).flatMap(kind =>
    lists[kind].map(({ key, bytes }) => ({
      kind,
      name: key,
      definition: definitionOf(kind, bytes),
    })),
  );
  if (instructions === undefined || instructions === '') return listed;
  const definition = instructionsDefinition(instructions);
  return [...listed, { kind: 'instructions', name: '', definition }];
}

/** Returns pins that accept these definitions. Instructions that were pinned before for the same entry stay. */
export function pinsOf(
  entry: string,
  definitions: readonly NamedDefinition[],
  before?: ServerPins,
): ServerPins {
  const known = before?.entry === entry ? before.pins.instructions : undefined;
  const of = (kind: PinnedKind) =>
    new Map(
      definitions
        .filter(one => one.kind === kind)
        .map(({ name, definition }): [string, DefinitionPin] => [name, { accepted: definition }]),
    );
  return {
    entry,
    pins: {
      tool: of('tool'),
      prompt: of('prompt'),
      instructions: known?.size ? known : of('instructions'),
    },
  };
}

/** True if tools or prompts are pinned. Pins without any do not count: some servers list theirs only later. */
export const hasPinned = ({ pins }: ServerPins): boolean => pins.tool.size + pins.prompt.size > 0;

/** True if a server without pinned tools and prompts offers any, or its first instructions. */
export const isFirstSight = ({ pins }: ServerPins, definitions: readonly NamedDefinition[]) =>
  definitions.some(({ kind }) => kind !== 'instructions' || pins.instructions.size === 0);

/** Returns the deviations from pins. Without pinned tools and prompts, only pinned instructions can deviate. */
export function deviationsOf(
  server: ServerPins,
  definitions: readonly NamedDefinition[],
): readonly Deviation[] {
  const { pins } = server;
  return definitions.flatMap((one): readonly Deviation[] => {
    const pin = pins[one.kind].get(one.name);
    if (!hasPinned(server) && !pin) return [];
    const before = pin?.accepted;
    if (before && isSameButForOrder(before, one.definition)) return [];
    const isRejected = pin?.rejected?.includes(one.definition.hash) === true;
    const state = isRejected ? 'rejected' : before ? 'changed' : 'new';
    return [{ ...one, state, before }];
  });
}

/** Returns a mutable copy of pins. */
export const copyPins = (pins: ServerPins['pins']) => ({
  tool: new Map(pins.tool),
  prompt: new Map(pins.prompt),
  instructions: new Map(pins.instructions),
});

/** Maximum number of stored rejected definitions per item. */
const maxRejected = 20;

/** Returns the pins after a person has accepted or rejected definitions. */
export function decide(
  server: ServerPins,
  verdict: 'accept' | 'reject',
  definitions: readonly NamedDefinition[],
): ServerPins {
  const pins = copyPins(server.pins);
  for (const { kind, name, definition } of definitions) {
    const { accepted, rejected = [] } = pins[kind].get(name) ?? {};
    const others = rejected.filter(hash => hash !== definition.hash);
    const kept = verdict === 'accept' ? others : [...others, definition.hash].slice(-maxRejected);
    const now = verdict === 'accept' ? definition : accepted;
    pins[kind].set(name, {
      ...(now && { accepted: now }),
      ...(kept.length > 0 && { rejected: kept }),
    });
  }
  return { ...server, pins };
}
