import { parseArgs } from 'node:util';
import { findClosest } from '#config';
import { HubError, errorCodeOf, kindOf } from '#core';
import {
  type Command,
  type ExitCode,
  type Positional,
  type Run,
  optionTypes,
  uselessOption,
} from './command.ts';
import { allowOption } from './confirm.ts';
import * as loaders from './loaders.ts';
import type { CliNeeds } from './needs.ts';
import { columns } from './table.ts';
import type { Io } from './terminal.ts';
import { type Values, guess } from './values.ts';

/** Creates the hub's command line interface. Commands are loaded on demand. */
export function createCli(needs: CliNeeds) {
  function reportUsageError(text: string, hint: string, io: Io): ExitCode {
    io.err(`agenthub: ${text}`);
    io.err(`Run "${hint}" for help.`);
    return 2;
  }

  return {
    /** Runs one command and returns its exit code. An exception is a bug. */
    async run(args: readonly string[], io: Io): Promise<ExitCode> {
      const [first, ...rest] = args;
      if (first === '--version' || first === '-v' || first === 'version') {
        io.out(needs.version);
        return 0;
      }
      const wantsHelp = first === '--help' || first === '-h' || first === 'help';
      const [name, ...words] = wantsHelp ? [...rest, '--help'] : args;
      if (name === undefined || (wantsHelp && rest.length === 0)) {
        io.out(generalHelp(await loaders.loadAllCommands()));
        return 0;
      }
      const command = await loaders.loadCommand(name);
      if (!command) return reportUsageError(unknown(name, namesAndAliases), 'agenthub --help', io);
      const values = parseArguments(command, words);
      if (typeof values === 'string')
        return reportUsageError(values, `agenthub ${command.name} --help`, io);
      if (values['help'] === true) {
        io.out(commandHelp(command));
        return 0;
      }
      return await runCommand(command, { ...io, values, isJson: values['json'] === true, needs });
    },
  };
}

const namesAndAliases = [...loaders.commandNames, ...Object.keys(loaders.aliases), 'version'];

function unknown(name: string, names: readonly string[]): string {
  if (name.startsWith('-')) return `${JSON.stringify(name)} is not an option`;
  return `${JSON.stringify(name)} is not a command${guess(name, names, '.')}`;
}

/** Parses the arguments of a command. Returns the values by option and positional name, or an error message. */
function parseArguments(command: Command, args: readonly string[]): Values | string {
  const { positionals: expected = [] } = command;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: optionTypes(command),
      strict: true,
      allowPositionals: expected.length > 0,
    });
    // `--help` works even if required arguments are missing.
    if (values['help'] === true) return values;
    // An empty value usually is an unset variable: `connect-stdio --server "$NAME"` would connect to all servers.
    const empty = Object.entries(command.options).find(
      ([name, { mayBeEmpty = false }]) => values[name] === '' && !mayBeEmpty,
    );
    if (empty) return `--${empty[0]} is empty`;
    const words = namePositionals(expected, positionals);
    if (typeof words === 'string') return words;
    const all = { ...values, ...words };
    return uselessOption(command, all) ?? all;
  } catch (error) {
    const isUsage = errorCodeOf(error)?.startsWith('ERR_PARSE_ARGS');
    if (!(error instanceof Error) || !isUsage) throw error;
    const [, valueless = ''] =
      /^Option '.*--([\w-]+) <value>' argument missing/.exec(error.message) ?? [];
    const { completion } = command.options[valueless] ?? {};
    if (Array.isArray(completion)) return `--${valueless} needs a value: ${completion.join(', ')}`;
    const [, given] = /^Unknown option '--([^']+)'/.exec(error.message) ?? [];
    const names = [...Object.keys(command.options), 'help'];
    const meant = given === undefined ? undefined : findClosest(given, names);
    // Shorten Node's message, which has three lines and leaves a quote open.
    const [first = '', words] = error.message.split('. To specify a positional argument');
    if (meant !== undefined) return `${first}. Did you mean "--${meant}"?`;
    if (/'(?:--yes|-y)'$/.test(first) && command.options['allow'] === allowOption)
      return `${first}. To allow a setting without a question, name it: --allow NAME`;
    return words === undefined ? first : `${first}. A word that begins with "-" goes after "--"`;
  }
}

/** Returns the positional words by name, or an error message. */
function namePositionals(
  expected: readonly Positional[],
  words: readonly string[],
): Values | string {
  const values: Record<string, unknown> = {};
  for (const [index, { name, count, completion }] of expected.entries()) {
    const isList = count === 'some' || count === 'any';
    const needsWord = count === undefined || count === 'some';
    if (needsWord && words[index] === undefined)
      return `<${name}> is missing${Array.isArray(completion) ? `: ${completion.join(', ')}` : ''}`;
    const given = words.slice(index, isList ? undefined : index + 1);
    // An empty word usually is an unset variable: `docs "$REPO"` would document this folder.
    if (count !== 'any' && given.includes('')) return `<${name}> is empty`;
    values[name] = isList ? given : given[0];
    if (isList) return values;
  }
  const extra = words[expected.length];
  return extra === undefined ? values : `Unexpected argument '${extra}'`;
}

async function runCommand(command: Command, run: Run): Promise<ExitCode> {
  try {
    return await command.run(run);
  } catch (error) {
    if (error instanceof HubError) {
      reportError(error, run);
      // Errors that the user can fix in files, settings or arguments exit with code 2.
      return ['invalid', 'forbidden'].includes(kindOf(error)) ? 2 : 1;
    }
    // An AbortError is expected after Ctrl-C, or when the reader of the output has exited.
    const isEnded = run.signal.aborted || run.unread.aborted;
    if (!isEnded || !(error instanceof Error) || error.name !== 'AbortError') throw error;
    run.progress('');
    return run.signal.aborted ? 1 : 0;
  }
}

/**
 * Prints an error, with the output of the failed server or installer if known. Each line of the output is shown once.
 */
function reportError(
  { code, message, data }: HubError,
  { isJson, err, json, errorScreen }: Run,
): void {
  err(errorScreen.foreign(message));
  const written = [data['output'], data.stderr].find(text => typeof text === 'string');
  const told = message.split('\n').slice(1);
  for (const line of written?.trimEnd().split('\n') ?? [])
    if (line && !told.some(own => own.startsWith(line)))
      err(errorScreen.paint('dim', `  | ${errorScreen.foreign(line)}`));
  if (isJson) json({ error: { code, message, ...data } });
}

/** Returns the text of `agenthub --help`. */
function generalHelp(groups: Awaited<ReturnType<typeof loaders.loadAllCommands>>): string {
  const names = groups.flatMap(({ commands }) => commands.map(({ name }) => name));
  const width = Math.max(...names.map(name => name.length));
  return [
    'AgentHub: one local endpoint in front of many MCP servers.',
    '',
    'Usage: agenthub <command> [options]',
    ...groups.flatMap(({ title, commands }) => [
      '',
      `${title}:`,
      ...columns(commands.map(({ name, summary }) => [name.padEnd(width), summary])),
    ]),
    '',
    'Options:',
    ...columns([
      ['-h, --help', 'Show this help, or the help of a command.'],
      ['-v, --version', 'Show the version.'],
    ]),
    '',
    'Exit codes: 0 success, 1 failure, 2 wrong usage, or an invalid config or setting.',
    'Settings are read from the environment and .env; .env.example lists them.',
    'Completion for your shell: agenthub completion --help',
  ].join('\n');
}

/** Returns the text of `agenthub <command> --help`. */
function commandHelp(command: Command): string {
  const { name, summary, options, positionals = [], details = [], examples = [] } = command;
  const own = Object.entries(options).map(([option, { help, value, short }]) => {
    const letter = short === undefined ? '    ' : `-${short}, `;
    return [`${letter}--${option}${value === undefined ? '' : ` <${value}>`}`, help];
  });
  const words = positionals.map(positional => ` ${formOf(positional)}`).join('');
  const others = Object.keys(loaders.aliases).filter(alias => loaders.aliases[alias] === name);
  return [
    `Usage: agenthub ${name}${words} [options]`,
    '',
    summary,
    ...(others.length > 0 ? ['', `Also called: ${others.join(', ')}.`] : []),
    ...details.flatMap(paragraph => ['', paragraph]),
    ...(positionals.length > 0
      ? ['', 'Arguments:', ...columns(positionals.map(({ name: word, help }) => [word, help]))]
      : []),
    '',
    'Options:',
    ...columns([...own, ['-h, --help', 'Show this help.']]),
    ...(examples.length > 0
      ? [
          '',
          'Examples:',
          ...examples.flatMap(([line, what]) => [`  ${what}`, `    $ agenthub ${line}`]),
        ]
      : []),
  ].join('\n');
}

const forms = {
  one: ['<', '>'],
  optional: ['[', ']'],
  some: ['<', '>...'],
  any: ['[', ']...'],
} as const;

function formOf({ name, count }: Positional): string {
  const [before, after] = forms[count ?? 'one'];
  return `${before}${name}${after}`;
}
