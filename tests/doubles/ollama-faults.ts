/** A fault of one answer of the Ollama double. */
export type Fault =
  /** The double receives the request and never answers. */
  | { readonly kind: 'hang' }
  /** The answer stops after this many lines, and the connection stays open. */
  | { readonly kind: 'hang_mid_stream'; readonly afterLines: number }
  /** The answer ends normally after this many lines, although it is incomplete. */
  | { readonly kind: 'cut'; readonly afterLines: number }
  /** The connection is reset after this many lines; with 0, before the header of the answer. */
  | { readonly kind: 'reset'; readonly afterLines: number }
  | { readonly kind: 'invalid_line'; readonly afterLines: number }
  /** Each byte is sent in a chunk of its own. Not a fault, but readers have to cope with it. */
  | { readonly kind: 'byte_by_byte' }
  | { readonly kind: 'html'; readonly status: number }
  | { readonly kind: 'redirect'; readonly status: number; readonly to: string }
  | { readonly kind: 'error'; readonly status: number; readonly error: string }
  | { readonly kind: 'error_mid_stream'; readonly afterLines: number; readonly error: string }
  /** Each line is sent when `before(line)` resolves; the first line is 0. */
  | { readonly kind: 'paced'; readonly before: (line: number) => Promise<void> }
  /** The answer starts when `until` resolves, as after loading a model. */
  | { readonly kind: 'slow'; readonly until: Promise<void> };

/** The error of an overloaded Ollama, with its status and message. */
export const busy: Fault = {
  kind: 'error',
  status: 503,
  error: 'server busy, please try again.  maximum pending requests exceeded',
};
