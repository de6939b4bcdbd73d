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

/** A name that a file exports. */
export type OutlineSymbol = {
  readonly name: string;
  readonly kind: SymbolKind;
  /** Declaration without its body, on one line. */
  readonly signature: string;
  /** Line number, counted from 1. */
  readonly line: number;
  /** First paragraph of the comment about the symbol. */
  readonly doc?: string;
  /** Names of public methods, or of the members of a type. */
  readonly members?: readonly string[];
};

/** Exports and imports of a file, as read from its syntax. */
export type FileOutline = {
  readonly path: string;
  readonly language: string;
  readonly lines: number;
  readonly bytes: number;
  /** Git blob hash of the file. */
  readonly hash: string;
  /** Comment at the top of the file, and its line. */
  readonly doc?: { readonly text: string; readonly line: number };
  readonly symbols: readonly OutlineSymbol[];
  /** Number of symbols omitted because a file has too many. */
  readonly moreSymbols: number;
  /** Specifiers as written, such as `./jobs.ts`, `#core`, `fastify` or `app.models`. */
  readonly imports: readonly string[];
  /** False if there is no grammar for the language, or if the file could not be parsed. */
  readonly isParsed: boolean;
};

/** A file that is excluded from the documentation, and the reason. */
export type Exclusion = {
  readonly path: string;
  readonly reason: 'secret' | 'generated' | 'too_large' | 'binary' | 'link' | 'limit';
  /** Where the reason was found, such as `its name` or `line 12`. Never contains a secret. */
  readonly what?: string;
};

/** A file for the parser. */
export type SourceFileText = {
  readonly path: string;
  readonly text: string;
  readonly bytes: number;
  readonly hash: string;
};
