import type { ParseArgsConfig } from 'node:util';
import type { Screen } from './screen.ts';

/** Input and output of a command. Texts are whole lines without their line break. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Shows a status line that the next output replaces. Only on a terminal. */
  readonly progress: (text: string) => void;
  /** The terminal or pipe behind `out`. */
  readonly screen: Screen;
  /** The terminal or pipe behind `err`. */
  readonly errorScreen: Screen;
  /** Reads all of stdin as UTF-8. */
  readonly input: () => Promise<string>;
  /** Aborts when the user or the system ends the command. */
  readonly signal: AbortSignal;
  /** Aborts when the reader of `out` is gone, for example at the end of a pipe to `head`. */
  readonly unread: AbortSignal;
};

/** 0: success. 1: failure. 2: wrong usage, or an invalid config or setting. */
export type ExitCode = 0 | 1 | 2;

/** Shell completion of a word: names or ids that the hub knows, files, or fixed words. */
export type CompletionSource = 'server' | 'job' | 'tool' | 'file' | readonly string[];

/** Options of a command in the format of `parseArgs`, each with a line of help. */
export type Options = Readonly<
  Record<
    string,
    NonNullable<ParseArgsConfig['options']>[string] & {
      readonly help: string;
      /** Placeholder for the value in the help. */
      readonly placeholder?: string;
      readonly completion?: CompletionSource;
    }
  >
>;

/** A positional argument. The command finds it among its values, by name. */
export type Positional = {
  readonly name: string;
  readonly help: string;
  /** `some`: one or more; `any`: zero or more. The value is then a list. Default: exactly one. */
  readonly count?: 'optional' | 'some' | 'any';
  readonly completion?: CompletionSource;
};

/** Parsed options and positionals by name: strings, booleans and lists of strings. */
export type Values = Readonly<Record<string, unknown>>;

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** In command line order, optional ones last. Only the last one may be a list. */
  readonly positionals?: readonly Positional[];
  readonly options: Options;
  /** Further paragraphs for the help, such as the format of `--json`. */
  readonly details?: readonly string[];
  /** Command lines without the program name, each with a description. */
  readonly examples?: readonly (readonly [line: string, what: string])[];
  /** Throws HubError for problems that the user can fix. */
  run(values: Values, io: Io): Promise<ExitCode>;
}
