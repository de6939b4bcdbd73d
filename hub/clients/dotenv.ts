import { parseEnv } from 'node:util';
import type { Variable } from './extract-secrets.ts';

const quotes = ["'", '"', '`'];

/**
 * Appends variables to the text of a `.env` file, which must not contain them yet. Returns undefined if a value
 * cannot be written so that it reads back the same, or if an existing one would read differently.
 */
export function withVariables(text: string, variables: readonly Variable[]): string | undefined {
  const lineBreak = /\r\n/.test(text) ? '\r\n' : '\n';
  const lines = variables.map(({ name, value }) => lineOf(name, value));
  if (lines.includes(undefined)) return undefined;
  const start = text === '' || text.endsWith('\n') ? text : text + lineBreak;
  const after = start + lines.map(line => `${line}${lineBreak}`).join('');
  const wanted = { ...parseEnv(text), ...valuesOf(variables) };
  const read = parseEnv(after);
  const names = new Set([...Object.keys(wanted), ...Object.keys(read)]);
  return [...names].every(name => read[name] === wanted[name]) ? after : undefined;
}

/** Maps variable names to values. */
export const valuesOf = (variables: readonly Variable[]): Readonly<Record<string, string>> =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

function lineOf(name: string, value: string): string | undefined {
  return ['', ...quotes]
    .filter(quote => (quote === '' ? /^[\w./:@%+=-]+$/.test(value) : !value.includes(quote)))
    .map(quote => `${name}=${quote}${value}${quote}`)
    .find(line => parseEnv(line)[name] === value);
}
