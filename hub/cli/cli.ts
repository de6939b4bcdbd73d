import { parseArgs } from 'node:util';
import { HubError, kindOf } from '#core';
import type { Command, ExitCode, Io } from './command.ts';
import { type BrokerNeeds, createBrokerCommand } from './commands/broker.ts';
import { type CheckNeeds, createCheck } from './commands/check.ts';
import { type ConnectNeeds, createConnectStdio } from './commands/connect-stdio.ts';
import { type DoctorNeeds, createDoctor } from './commands/doctor.ts';
import { createSchema } from './commands/schema.ts';
import { type ServeNeeds, createServe } from './commands/serve.ts';
import { commandHelp, generalHelp } from './help.ts';

export type CliNeeds = ServeNeeds &
  ConnectNeeds &
  CheckNeeds &
  DoctorNeeds &
  BrokerNeeds & { readonly version: string };

/** The command line of the hub. */
export interface Cli {
  /** Runs one command and answers with the exit code. What it throws is a bug. */
  run(args: readonly string[], io: Io): Promise<ExitCode>;
}

/** Builds the commands over what the app hands in. */
export function createCli(needs: CliNeeds): Cli {
  const commands = [
    createServe(needs),
    createConnectStdio(needs),
    createCheck(needs),
    createDoctor(needs),
    createSchema(),
    createBrokerCommand(needs),
  ];

  function misused(text: string, hint: string, io: Io): ExitCode {
    io.err(`agenthub: ${text}`);
    io.err(`Run "${hint}" to see what there is.`);
    return 2;
  }

  return {
    async run(args, io) {
      const [first, ...rest] = args;
      if (first === '--help' || first === '-h' || first === 'help') {
        io.out(generalHelp(commands));
        return 0;
      }
      if (first === '--version' || first === '-v') {
        io.out(needs.version);
        return 0;
      }
      const command = commands.find(({ name }) => name === first);
      if (!command) {
        const text =
          first === undefined
            ? 'no command is given'
            : `${JSON.stringify(first)} is not ${first.startsWith('-') ? 'an option' : 'a command'}`;
        return misused(text, 'agenthub --help', io);
      }
      const parsed = parse(command, rest);
      if ('wrong' in parsed) return misused(parsed.wrong, `agenthub ${command.name} --help`, io);
      if (parsed.values['help'] === true) {
        io.out(commandHelp(command));
        return 0;
      }
      return await runCommand(command, parsed.values, io);
    },
  };
}

async function runCommand(
  command: Command,
  values: Readonly<Record<string, unknown>>,
  io: Io,
): Promise<ExitCode> {
  try {
    return await command.run(values, io);
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    io.err(error.message);
    // What is wrong with the files, the settings or the arguments is the person's to mend.
    return ['invalid', 'forbidden'].includes(kindOf(error)) ? 2 : 1;
  }
}

type Parsed = { readonly values: Readonly<Record<string, unknown>> } | { readonly wrong: string };

function parse(command: Command, args: readonly string[]): Parsed {
  try {
    const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
    return { values: parseArgs({ args: [...args], options, strict: true }).values };
  } catch (error) {
    const misuse = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!(error instanceof Error) || !misuse.startsWith('ERR_PARSE_ARGS')) throw error;
    return { wrong: error.message };
  }
}
