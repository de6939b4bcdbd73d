import type { PinnedKind } from './definition.ts';

/** A decision of the hub or of a person, for the audit log. */
export type DefinitionEvent = {
  readonly action: 'definition_deviates' | 'definitions_pinned';
  readonly server: string;
  readonly details: Readonly<Record<string, string | number>>;
};

/** Which deviations of a server a person decides about. */
export type DefinitionChoice = {
  /** A tool or prompt, or `instructions`. Absent: all. */
  readonly name?: string | undefined;
  /** Selects one kind if a tool and a prompt have the same name. */
  readonly kind?: PinnedKind | undefined;
  /** Hashes of the definitions that the person saw. Absent: those of now. */
  readonly hashes?: readonly string[] | undefined;
};
