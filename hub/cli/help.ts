import type { Command } from './command.ts';

/** The text of `agenthub --help`. */
export function generalHelp(commands: readonly Command[]): string {
  return [
    'AgentHub: one local endpoint in front of many MCP servers.',
    '',
    'Usage: agenthub <command> [options]',
    '',
    'Commands:',
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    '',
    'Options:',
    ...columns([
      ['-h, --help', 'Show this, or the options of a command.'],
      ['-v, --version', 'Show the version.'],
    ]),
    '',
    'Settings come from the environment and from .env; .env.example lists them.',
  ].join('\n');
}

/** The text of `agenthub <command> --help`. */
export function commandHelp({ name, summary, options }: Command): string {
  const own = Object.entries(options).map(([option, { help, placeholder }]): [string, string] => [
    `    --${option}${placeholder === undefined ? '' : ` <${placeholder}>`}`,
    help,
  ]);
  return [
    `Usage: agenthub ${name} [options]`,
    '',
    summary,
    '',
    'Options:',
    ...columns([...own, ['-h, --help', 'Show this.']]),
  ].join('\n');
}

/** Rows of equal columns, two spaces apart. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const width = (column: number) => Math.max(...rows.map(row => row[column]?.length ?? 0));
  return rows.map(row =>
    `  ${row.map((cell, column) => cell.padEnd(width(column))).join('  ')}`.trimEnd(),
  );
}
