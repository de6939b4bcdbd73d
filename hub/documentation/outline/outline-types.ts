export type SymbolKind =
  | 'class'
  | 'constant'
  | 'default'
  | 'enum'
  | 'function'
  | 'interface'
  | 'macro'
  | 'method'
  | 'module'
  | 'struct'
  | 'trait'
  | 're-export'
  | 'type';

/** A name that a file offers to others. */
export type OutlineSymbol = {
  readonly name: string;
  readonly kind: SymbolKind;
  /** The declaration without its body, on one line. */
  readonly signature: string;
  /** Number of the line, counted from 1. */
  readonly line: number;
  /** The first paragraph of its comment. */
  readonly doc?: string;
  /** Names of its public methods, or the members of a type. */
  readonly members?: readonly string[];
};

/** What a file offers and uses, read from its syntax. */
export type FileOutline = {
  readonly path: string;
  readonly language: string;
  readonly lines: number;
  readonly bytes: number;
  /** Hash of the file as a blob in git. */
  readonly hash: string;
  /** The comment at its top, and the line of it. */
  readonly doc?: { readonly text: string; readonly line: number };
  readonly symbols: readonly OutlineSymbol[];
  /** Symbols beyond the limit of a file. */
  readonly moreSymbols: number;
  /** Specifiers as written, such as `./jobs.ts`, `#core`, `fastify` or `app.models`. */
  readonly imports: readonly string[];
  /** False if its language has no grammar here, or if it could not be parsed. */
  readonly isParsed: boolean;
};

/** Why a file is not in the documentation. */
export type Exclusion = {
  readonly path: string;
  readonly reason: 'secret' | 'generated' | 'too_large' | 'binary' | 'link' | 'limit';
  /** What was found, such as `its name` or `line 12`. Never has a secret. */
  readonly what?: string;
};

/** A file as it is handed to the parser. */
export type SourceFileText = {
  readonly path: string;
  readonly text: string;
  readonly bytes: number;
  readonly hash: string;
};
