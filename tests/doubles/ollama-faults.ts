/** What goes wrong with an answer. */
export type Fault =
  /** The request is taken, and nothing comes. */
  | { readonly kind: 'hang' }
  /** Nothing comes after so many lines. */
  | { readonly kind: 'hang_mid_stream'; readonly afterLines: number }
  /** The answer ends, as if it were whole, after so many lines. */
  | { readonly kind: 'cut'; readonly afterLines: number }
  /** The connection is lost, after so many lines; 0 is before the head of the answer. */
  | { readonly kind: 'reset'; readonly afterLines: number }
  | { readonly kind: 'invalid_line'; readonly afterLines: number }
  /** Every byte comes by itself: no fault, but what a reader must stand. */
  | { readonly kind: 'byte_by_byte' }
  | { readonly kind: 'html'; readonly status: number }
  | { readonly kind: 'error'; readonly status: number; readonly error: string }
  | { readonly kind: 'error_mid_stream'; readonly afterLines: number; readonly error: string }
  /** Each line waits for its own time; the first is 0. */
  | { readonly kind: 'paced'; readonly before: (line: number) => Promise<void> }
  /** The answer waits, as while a model is loaded. */
  | { readonly kind: 'slow'; readonly until: Promise<void> };

/** Errors in Ollama's own words. */
export const busy: Fault = {
  kind: 'error',
  status: 503,
  error: 'server busy, please try again.  maximum pending requests exceeded',
};
