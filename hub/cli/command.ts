import type { ParseArgsConfig } from 'node:util';
import type { Screen } from './screen.ts';

/** What a command has of the terminal. Texts are whole lines without their line break. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Shows what is being done, in a line that the next text takes the place of. Only on a terminal. */
  readonly progress: (text: string) => void;
  /** What `out` is seen on. */
  readonly screen: Screen;
  /** What `err` is seen on. */
  readonly errorScreen: Screen;
  /** What the command is fed with, whole, as UTF-8. */
  readonly input: () => Promise<string>;
  /** Aborts when the person, or the system, wants the command to end. */
  readonly signal: AbortSignal;
  /** Aborts when nobody reads what goes to `out` any more. */
  readonly unread: AbortSignal;
};

/** 0: fine. 1: failed. 2: used wrongly, which includes a config file that is wrong. */
export type ExitCode = 0 | 1 | 2;

/** What the shell completes a word with: names and ids that the hub knows, or some words. */
export type Completion = 'server' | 'job' | 'tool' | 'file' | readonly string[];

/** The options of a command as `parseArgs` takes them, each with a line of help. */
export type Options = Readonly<
  Record<
    string,
    NonNullable<ParseArgsConfig['options']>[string] & {
      readonly help: string;
      /** What stands for the value in the help. */
      readonly placeholder?: string;
      readonly completion?: Completion;
    }
  >
>;

/** A word of the command line that is no option. The command finds it among its values, by its name. */
export type Positional = {
  readonly name: string;
  readonly help: string;
  /** `some`: one at least; `any`: the rest. The value of both is a list. Default: one, which must be there. */
  readonly count?: 'optional' | 'some' | 'any';
  readonly completion?: Completion;
};

/** The options and positionals that a person gave, by name: strings, booleans and lists of strings. */
export type Values = Readonly<Record<string, unknown>>;

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** In the order in which they are written, optional ones last; only the last may be a list. */
  readonly positionals?: readonly Positional[];
  readonly options: Options;
  /** More for the help, a paragraph each: what `--json` prints, say. */
  readonly details?: readonly string[];
  /** Command lines without the program's name, and what each does. */
  readonly examples?: readonly (readonly [line: string, what: string])[];
  /** Throws HubError for what the person can mend. */
  run(values: Values, io: Io): Promise<ExitCode>;
}
