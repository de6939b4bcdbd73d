import type { Citation } from '../project/project-types.ts';

/** A note before it is compared with the notes in the vault. */
export type DraftNote = {
  /** Name of the note, without `.md`. */
  readonly name: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly body: string;
  /** Further sources of the note that are not in the body, such as the hashes of a module's files. */
  readonly madeFrom: string;
  /** Path of the module's folder; undefined for notes about all modules. */
  readonly folder?: string;
};

/** A sentence that a model wrote, and the lines of code that it cites. */
export type Claim = { readonly text: string; readonly citations: readonly Citation[] };

/** A model's description of a module, after the check of its citations. */
export type Description = {
  readonly model: string;
  readonly claims: readonly Claim[];
};
