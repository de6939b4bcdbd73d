import type { Form } from './stem.ts';

/** A word that must have a counterpart in the other prompt. */
export type Term = {
  readonly stem: string;
  readonly form: Form;
  readonly raw: string;
  readonly isVerb: boolean;
  /** True if the word follows "the", "this" or the like, where singular and plural differ. */
  readonly isDefinite: boolean;
};

/** The words after a preposition. `head` is the class of the preposition; "" for the words before the first one. */
export type Chunk = { readonly head: string; readonly terms: readonly Term[] };

/**
 * A clause. The order of its chunks is free, the order of the words in a chunk is not. `head` is `main`, `rel`
 * (relative clause) or the conjunction.
 */
export type Clause = { readonly head: string; readonly chunks: readonly Chunk[] };
