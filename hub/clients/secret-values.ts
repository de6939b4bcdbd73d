import { isSecretName } from '#core';
import { redactText } from '#telemetry';

/** A value that was taken out of an entry, and the variable in which it is from now on. */
export type Variable = { readonly name: string; readonly value: string };

/** Takes the keys out of texts, and keeps which variables have to be set for them. */
export interface SecretValues {
  /**
   * The text, or a reference to a variable where it looks like a key: by the name under which it stands, or by
   * itself. `text` is as the hub's config says it, `value` as it is.
   */
  moved(name: string, text: string, value: string): string;
  readonly variables: readonly Variable[];
  /** The variables, new ones or not, of values that stand in the client's file itself. */
  readonly names: ReadonlySet<string>;
}

/**
 * The variables are named after the server, so that they are none of the hub's own settings. One that has
 * another value already, in the environment or for another server, is not taken.
 */
export function createSecretValues(
  server: string,
  taken: (name: string) => string | undefined,
): SecretValues {
  const variables: Variable[] = [];
  const names = new Set<string>();
  const valueOf = (name: string) =>
    variables.find(variable => variable.name === name)?.value ?? taken(name);

  function nameFor(wanted: string, value: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : `${wanted}_${number}`;
      const there = valueOf(name);
      if (there === undefined || there === '') variables.push({ name, value });
      if (there === undefined || there === '' || there === value) {
        names.add(name);
        return name;
      }
    }
  }

  return {
    variables,
    names,
    moved(name, text, value) {
      if (value === '' || !(isSecretName(name) || looksSecret(value))) return text;
      return `\${${nameFor(variableName(server, name), value)}}`;
    },
  };
}

/** True for what services write as a key, and for addresses that may have one in them. */
const looksSecret = (value: string) => redactText(value) !== value || isPersonal(value);

/**
 * True for an address with a user or a query, whose names tell too little of what is a key, and for one with a
 * part of its path that nobody has thought up: some services know their users by that.
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
