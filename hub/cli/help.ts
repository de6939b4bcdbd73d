import type { Command, Positional } from './command.ts';
import { columns } from './table.ts';

/** Related commands, listed together. */
export type CommandGroup = { readonly title: string; readonly commands: readonly Command[] };

/** Text of `agenthub --help`. */
export function generalHelp(groups: readonly CommandGroup[]): string {
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

/** Text of `agenthub <command> --help`. */
export function commandHelp(command: Command): string {
  const { name, summary, options, positionals = [], details = [], examples = [] } = command;
  const own = Object.entries(options).map(([option, { help, value, short }]) => {
    const letter = short === undefined ? '    ' : `-${short}, `;
    return [`${letter}--${option}${value === undefined ? '' : ` <${value}>`}`, help];
  });
  const words = positionals.map(positional => ` ${formOf(positional)}`).join('');
  return [
    `Usage: agenthub ${name}${words} [options]`,
    '',
    summary,
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
