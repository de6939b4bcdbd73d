import type { ParseArgsOptionsConfig } from 'node:util';
import type { CliNeeds } from './needs.ts';
import type { Io } from './terminal.ts';
import type { Values } from './values.ts';

/** Exit codes. 0: success. 1: failure. 2: wrong usage, or an invalid config or setting. */
export type ExitCode = 0 | 1 | 2;

/** Shell completion of a word: names or ids that the hub knows, files, or fixed words. */
export type CompletionSource = 'server' | 'job' | 'tool' | 'file' | readonly string[];

export type Options = Readonly<
  Record<
    string,
    {
      readonly help: string;
      /** Placeholder for the value in the help. An option without one is a flag. */
      readonly value?: string;
      /** True if the option may be repeated. Its value is then a list. */
      readonly multiple?: true;
      /** True if an empty value has a meaning. All other options refuse it, except those that may be repeated. */
      readonly mayBeEmpty?: true;
      /** Short form of the option: one letter. */
      readonly short?: string;
      readonly completion?: CompletionSource;
      /** Actions (first words) of the command that accept the option; undefined stands for no word. Default: all. */
      readonly actions?: Actions;
    }
  >
>;

type Actions = readonly (string | undefined)[];

/** A positional argument, whose value a command finds by this name. */
export type Positional = {
  readonly name: string;
  readonly help: string;
  /**
   * Number of words: `some` is one or more, `any` zero or more, and both make the value a list. Default: exactly one.
   */
  readonly count?: 'optional' | 'some' | 'any';
  readonly completion?: CompletionSource;
};

/** One run of a command: its arguments, its input and output, and what it needs from the app. */
export type Run = Io & {
  readonly values: Values;
  readonly isJson: boolean;
  readonly needs: CliNeeds;
};

export interface Command {
  readonly name: string;
  /** Description in the list of commands, one line. */
  readonly summary: string;
  /** Positional arguments in command line order, optional ones last. Only the last one may be a list. */
  readonly positionals?: readonly Positional[];
  readonly options: Options;
  /** Further paragraphs for the help, such as the format of `--json`. */
  readonly details?: readonly string[];
  /** Example command lines without the program name, each with a description. */
  readonly examples?: readonly (readonly [line: string, what: string])[];
  /** Runs the command. Throws HubError for problems that the user can fix. */
  run(run: Run): Promise<ExitCode>;
}

/** Returns the options of a command, and `--help`, in the form that `parseArgs` takes. */
export function optionTypes({ options }: Command): ParseArgsOptionsConfig {
  const types = Object.entries(options).map(([name, { value, multiple = false, short }]) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const);
    return [name, { type, multiple, ...(short !== undefined && { short }) }] as const;
  });
  return { ...Object.fromEntries(types), help: { type: 'boolean', short: 'h' } };
}

/** Restricts options to some actions of a command. */
export const takenBy = (actions: Actions, options: Options): Options =>
  Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, actions }]),
  );

/**
 * Returns an error message for an option that the action does not accept. The command itself refuses an unknown action.
 */
export function uselessOption(command: Command, values: Values): string | undefined {
  const [first] = command.positionals ?? [];
  const words = first && values[first.name];
  const word: unknown = Array.isArray(words) ? words[0] : words;
  const action = typeof word === 'string' ? word : undefined;
  const known = first?.completion;
  if (action !== undefined && Array.isArray(known) && !known.includes(action)) return undefined;
  const line = (one: string | undefined) =>
    `"agenthub ${command.name}${one === undefined ? '' : ` ${one}`}"`;
  for (const [name, { actions }] of Object.entries(command.options))
    if (values[name] !== undefined && actions && !actions.includes(action))
      return `--${name}: ${line(action)} does not take it, only ${new Intl.ListFormat('en-GB').format(actions.map(line))}`;
  return undefined;
}

/** Option `--json`, for all commands whose output scripts may parse. */
export const jsonOption = {
  json: { help: 'Print one JSON document, for scripts.' },
} as const satisfies Options;

/** Options `--url` and `--json`, for all commands that call a hub. */
export const hubOptions = {
  url: {
    value: 'url',
    help: 'URL of the hub. Default: http://localhost:9090, or according to ROUTER_PORT and TLS.',
  },
  ...jsonOption,
} as const satisfies Options;

export const configOption = (purpose: string) =>
  ({
    config: {
      value: 'file',
      completion: 'file',
      help: `${purpose} Default: MCP_SERVERS_CONFIG, else configs/mcp-servers.json or hub.yaml in this folder, else the one in your config folder.`,
    },
  }) as const satisfies Options;

export const profileOption = (help: string) =>
  ({ profile: { value: 'name', help } }) as const satisfies Options;

export const serverOption = (help: string) =>
  ({ server: { value: 'name', completion: 'server', help } }) as const satisfies Options;
