import type { PinnedKind } from './definition.ts';

/** An event about pinned definitions, for the audit log. */
export type DefinitionEvent = {
  readonly action: 'definition_deviates' | 'definitions_pinned';
  readonly server: string;
  readonly details: Readonly<Record<string, string | number>>;
};

/** The deviations of a server that a person accepts or rejects. */
export type DefinitionChoice = {
  /** Name of a tool or prompt, or `instructions`. Absent: all deviations. */
  readonly name?: string | undefined;
  /** Selects a kind if a tool and a prompt have the same name. */
  readonly kind?: PinnedKind | undefined;
  /** Hashes of the definitions that the person saw. Absent: the current ones. */
  readonly hashes?: readonly string[] | undefined;
};
