import type { Form } from './stem.ts';

/** A word that must have a counterpart in the other prompt. */
export type Term = {
  readonly stem: string;
  readonly form: Form;
  readonly raw: string;
  readonly isVerb: boolean;
  /** Stands behind "the", "this" and the like, where singular and plural differ. */
  readonly isDefinite: boolean;
};

/** The words behind a preposition. `head` is the class of the preposition; "" before the first one. */
export type Chunk = { readonly head: string; readonly terms: readonly Term[] };

/** Chunks may change places, their words may not. `head` is `main`, `rel` or the conjunction. */
export type Clause = { readonly head: string; readonly chunks: readonly Chunk[] };
