import { parseEnv } from 'node:util';
import { type JsonObject, isSecretName } from '#core';
import { redactText } from '#telemetry';
import { changeVariables, escapeDollars } from './entry-variables.ts';

/** A secret taken out of an entry, and the variable that contains it from now on. */
export type Variable = { readonly name: string; readonly value: string };

/** Replaces secrets in texts by variables and collects these variables. */
export type SecretExtractor = ReturnType<typeof createSecretExtractor>;

/**
 * Creates an extractor for one server. Variable names begin with the server's name, so they never collide with settings
 * of the hub. A variable that already has another value, in the environment or for another server, is not reused.
 */
export function createSecretExtractor(server: string, taken: (name: string) => string | undefined) {
  const variables: Variable[] = [];
  const names = new Set<string>();
  const valueOf = (name: string) =>
    variables.find(variable => variable.name === name)?.value ?? taken(name);

  function nameFor(wanted: string, value: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : `${wanted}_${number}`;
      const current = valueOf(name) ?? '';
      if (current === '') variables.push({ name, value });
      else if (current !== value) continue;
      names.add(name);
      return name;
    }
  }

  return {
    variables,
    /** Names of all variables for secrets of this client file, new or already set. */
    names,
    /**
     * Returns `text`, or a reference to a variable if `name` or `value` looks secret. `text` is in the hub's config
     * syntax, `value` is the same text without escapes.
     */
    extract(name: string, text: string, value: string): string {
      if (value === '' || !(isSecretName(name) || looksSecret(value))) return text;
      return `\${${nameFor(variableName(server, name), value)}}`;
    },
  };
}

/** True if a variable of an entry looks like a key, by its name or its value. */
export function hasKey({ env }: JsonObject): boolean {
  const texts = typeof env === 'object' && env !== null ? Object.entries(env) : [];
  return texts.some(
    ([name, text]) => typeof text === 'string' && (isSecretName(name) || looksSecret(text)),
  );
}

/** True if a value looks like a key, or a URL that may contain one. */
const looksSecret = (value: string) => redactText(value) !== value || isPersonal(value);

/**
 * True if a URL has a user name, a query, or a random-looking path segment, which some services use to identify their
 * users.
 */
function isPersonal(value: string): boolean {
  const url = /^(?:https?|wss?):\/\//i.test(value) ? URL.parse(value) : null;
  if (!url) return false;
  return url.username !== '' || url.search !== '' || url.pathname.split('/').some(isRandom);
}

const isRandom = (part: string) => /^(?=.*\d)(?=.*[A-Za-z])[\w~.=-]{20,}$/.test(part);

function variableName(server: string, name: string): string {
  const capitals = (text: string) =>
    text
      .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
      .replaceAll(/[^A-Za-z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '')
      .toUpperCase();
  const [of, what] = [capitals(server), capitals(name)];
  return what.startsWith(`${of}_`) ? `MCP_${what}` : `MCP_${of}_${what}`;
}

const quotes = ["'", '"', '`'];

/**
 * Appends variables to the text of a `.env` file, which must not contain them yet. Returns undefined if a value cannot
 * be written so that it is parsed unchanged, or if an existing value would be parsed differently.
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

export const valuesOf = (variables: readonly Variable[]): Readonly<Record<string, string>> =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

function lineOf(name: string, value: string): string | undefined {
  return ['', ...quotes]
    .filter(quote => (quote === '' ? /^[\w./:@%+=-]+$/.test(value) : !value.includes(quote)))
    .map(quote => `${name}=${quote}${value}${quote}`)
    .find(line => parseEnv(line)[name] === value);
}

/**
 * Replaces references to these variables, and to secrets of the same names, by their values. Escapes dollar signs in
 * them.
 */
export function withValues(value: JsonObject, variables: readonly Variable[]): JsonObject {
  const values = new Map(variables.map(({ name, value: text }) => [name, text]));
  return changeVariables(value, (name, text) => {
    const known = values.get(name.replace(/^secret:/, ''));
    return known === undefined ? text : escapeDollars(known);
  });
}
