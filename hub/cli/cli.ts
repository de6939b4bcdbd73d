import { findClosest } from '#config';
import { HubError, kindOf } from '#core';
import { parseArguments } from './arguments.ts';
import type { Command, ExitCode, Io, Values } from './command.ts';
import { commandHelp, generalHelp } from './help.ts';
import { type CommandNeeds, createLoaders } from './loaders.ts';
import { asJson } from './values.ts';

export type CliNeeds = CommandNeeds;

/** The hub's command line interface. */
export interface Cli {
  /** Runs one command and returns its exit code. An exception is a bug. */
  run(args: readonly string[], io: Io): Promise<ExitCode>;
}

/** Creates the CLI. Commands are loaded on demand. */
export function createCli(needs: CliNeeds): Cli {
  const loaders = createLoaders(needs);

  function reportUsageError(text: string, hint: string, io: Io): ExitCode {
    io.err(`agenthub: ${text}`);
    io.err(`Run "${hint}" for help.`);
    return 2;
  }

  return {
    async run(args, io) {
      const [first, ...rest] = args;
      if (first === '--version' || first === '-v') {
        io.out(needs.version);
        return 0;
      }
      const wantsHelp = first === '--help' || first === '-h' || first === 'help';
      const [name, ...words] = wantsHelp ? [...rest, '--help'] : args;
      if (wantsHelp && rest.length === 0) {
        io.out(generalHelp(await loaders.loadAll()));
        return 0;
      }
      const command = name === undefined ? undefined : await loaders.load(name);
      if (!command) return reportUsageError(unknown(name, loaders.names), 'agenthub --help', io);
      const parsed = parseArguments(command, words);
      if ('wrong' in parsed)
        return reportUsageError(parsed.wrong, `agenthub ${command.name} --help`, io);
      if (parsed.values['help'] === true) {
        io.out(commandHelp(command));
        return 0;
      }
      return await runCommand(command, parsed.values, io);
    },
  };
}

function unknown(name: string | undefined, names: readonly string[]): string {
  if (name === undefined) return 'a command is missing';
  const isOption = name.startsWith('-');
  const meant = isOption ? undefined : findClosest(name, names);
  return `${JSON.stringify(name)} is not ${isOption ? 'an option' : 'a command'}${meant === undefined ? '' : `. Did you mean "${meant}"?`}`;
}

async function runCommand(command: Command, values: Values, io: Io): Promise<ExitCode> {
  try {
    return await command.run(values, io);
  } catch (error) {
    if (!(error instanceof HubError)) {
      // After Ctrl-C, an AbortError is expected and not reported.
      if (!io.signal.aborted || !(error instanceof Error) || error.name !== 'AbortError')
        throw error;
      io.progress('');
      return 1;
    }
    reportError(error, values, io);
    // Errors that the user can fix in files, settings or arguments exit with code 2.
    return ['invalid', 'forbidden'].includes(kindOf(error)) ? 2 : 1;
  }
}

/** Prints an error, with the output of the server or installer that failed, if known. */
function reportError({ code, message, data }: HubError, values: Values, io: Io): void {
  const { errorScreen } = io;
  io.err(errorScreen.foreign(message));
  const written = [data['output'], data.stderr].find(text => typeof text === 'string');
  for (const line of written?.trimEnd().split('\n') ?? [])
    if (line) io.err(errorScreen.paint('dim', `  | ${errorScreen.foreign(line)}`));
  if (values['json'] === true) io.out(asJson({ error: { code, message, ...data } }));
}
