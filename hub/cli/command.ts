import type { ParseArgsConfig } from 'node:util';

/** What a command has of the terminal. Texts are whole lines without their line break. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Aborts when the person, or the system, wants the command to end. */
  readonly signal: AbortSignal;
};

/** 0: fine. 1: failed. 2: used wrongly, which includes a config file that is wrong. */
export type ExitCode = 0 | 1 | 2;

/** The options of a command as `parseArgs` takes them, each with a line of help. */
export type Options = Readonly<
  Record<
    string,
    NonNullable<ParseArgsConfig['options']>[string] & {
      readonly help: string;
      /** What stands for the value in the help. */
      readonly placeholder?: string;
    }
  >
>;

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly options: Options;
  /** Throws HubError for what the person can mend. */
  run(values: Readonly<Record<string, unknown>>, io: Io): Promise<ExitCode>;
}
