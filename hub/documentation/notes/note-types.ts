import type { Citation } from '../project/project-types.ts';

/** A note before it is compared with what is in the vault. */
export type DraftNote = {
  /** Without `.md`. */
  readonly name: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly body: string;
  /** Beyond the body: what else the note was made from, such as the files of a module. */
  readonly madeFrom: string;
  /** Path of the folder of the module; undefined for the notes about all modules. */
  readonly folder?: string;
};

/** A sentence of a model, with places that show it. */
export type Claim = { readonly text: string; readonly citations: readonly Citation[] };

/** What a model wrote about a module, checked. */
export type Description = {
  readonly model: string;
  readonly claims: readonly Claim[];
};
