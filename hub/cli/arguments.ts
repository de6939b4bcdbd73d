import { parseArgs } from 'node:util';
import { findClosest } from '#config';
import type { Command, Positional, Values } from './command.ts';

export type ParsedArguments = { readonly values: Values } | { readonly wrong: string };

/** Parses the arguments of a command. Returns the values by option and positional name, or what is wrong. */
export function parseArguments(command: Command, args: readonly string[]): ParsedArguments {
  const { positionals: expected = [] } = command;
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      strict: true,
      allowPositionals: expected.length > 0,
    });
    // `--help` works even if required arguments are missing.
    if (values['help'] === true) return { values };
    const words = namePositionals(expected, positionals);
    return 'wrong' in words ? words : { values: { ...values, ...words.values } };
  } catch (error) {
    const misuse = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!(error instanceof Error) || !misuse.startsWith('ERR_PARSE_ARGS')) throw error;
    return { wrong: `${error.message}${suggestionFor(error.message, Object.keys(options))}` };
  }
}

function namePositionals(
  expected: readonly Positional[],
  words: readonly string[],
): ParsedArguments {
  const values: Record<string, unknown> = {};
  for (const [index, { name, count }] of expected.entries()) {
    const isList = count === 'some' || count === 'any';
    const needsWord = count === undefined || count === 'some';
    if (needsWord && words[index] === undefined) return { wrong: `<${name}> is missing` };
    values[name] = isList ? words.slice(index) : words[index];
    if (isList) return { values };
  }
  const extra = words[expected.length];
  return extra === undefined ? { values } : { wrong: `Unexpected argument '${extra}'` };
}

function suggestionFor(message: string, options: readonly string[]): string {
  const [, given] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  const meant = given === undefined ? undefined : findClosest(given, options);
  return meant === undefined ? '' : `. Did you mean "--${meant}"?`;
}
