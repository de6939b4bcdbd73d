import { HubError } from '#core';
import type { Argument, Input, NamedInput } from './server-json.ts';

/** A value that is missing in the request. `path` tells where to add it. */
type Missing = {
  readonly path: string;
  readonly description: string;
  readonly isSecret: boolean;
};

/** The missing and the secret values among the inputs of a server. */
export type FilledInputs = {
  readonly missing: readonly Missing[];
  /** Paths of secret values in the entry, such as `env.API_KEY`. */
  readonly secrets: readonly string[];
};

const placeholder = /\{([A-Za-z_][\w.-]*)\}/g;

/**
 * Computes the values of an entry from the publisher's inputs and the caller's `variables`. The publisher's text is
 * literal, so each `$` in it is escaped: a `${NAME}` would give the server the hub's secrets. The caller's values may
 * contain `${NAME}`.
 */
export function createFilling(variables: Readonly<Record<string, string>>) {
  const missing: Missing[] = [];
  const secrets: string[] = [];

  /** Returns the caller's value; otherwise the publisher's default. Records a missing required value. */
  function chosen(path: string, key: string | undefined, input: Input): string | undefined {
    const given = key !== undefined && Object.hasOwn(variables, key) ? variables[key] : undefined;
    if (given === undefined) {
      if (input.default !== undefined) return literal(input.default);
      const { description = '', isSecret = false, isRequired } = input;
      if (isRequired && !missing.some(one => one.path === path))
        missing.push({ path, description, isSecret });
      return undefined;
    }
    refuseOther(path, given, input);
    return given;
  }

  function fill(path: string, input: Input, key?: string): string | undefined {
    if (input.value === undefined) return chosen(path, key, input);
    let isWhole = true;
    const text = input.value.split(placeholder).map((part, index) => {
      if (index % 2 === 0) return literal(part);
      const variable = input.variables?.[part];
      // An unknown name in braces is literal text.
      if (!variable) return literal(`{${part}}`);
      const at = `variables.${part}`;
      const value =
        variable.value === undefined
          ? chosen(at, part, { ...variable, isRequired: variable.isRequired ?? input.isRequired })
          : literal(variable.value);
      if (value === undefined) isWhole = false;
      return value ?? '';
    });
    return isWhole ? text.join('') : undefined;
  }

  const filled: FilledInputs = { missing, secrets };
  return {
    fill: (path: string, input: Input) => fill(path, input),
    /** Returns variables or headers. Values of the caller win; they may also be in `variables`. */
    named(
      part: 'env' | 'headers',
      inputs: readonly NamedInput[],
      given: Readonly<Record<string, string>>,
    ): Readonly<Record<string, string>> {
      const values = new Map<string, string>();
      for (const input of inputs) {
        const path = `${part}.${input.name}`;
        const own = Object.entries(given).find(([name]) => isSame(part, name, input.name))?.[1];
        if (own !== undefined) refuseOther(path, own, input);
        const value = own ?? fill(path, input, input.name);
        if (value === undefined) continue;
        values.set(input.name, value);
        const parts = Object.values(input.variables ?? {});
        if ([input, ...parts].some(({ isSecret }) => isSecret)) secrets.push(path);
      }
      for (const [name, value] of Object.entries(given))
        if (!inputs.some(input => isSame(part, name, input.name))) values.set(name, value);
      return Object.fromEntries(values);
    },
    args(inputs: readonly Argument[]): readonly string[] {
      return inputs.flatMap((input, index) => {
        const { type, name, valueHint } = input;
        const key = type === 'named' ? name : (valueHint ?? name);
        const path = key === undefined ? `args[${index}]` : `variables.${key}`;
        const given = key !== undefined && Object.hasOwn(variables, key);
        const value =
          given || input.value === undefined ? chosen(path, key, input) : fill(path, input);
        if (value === undefined) return [];
        if (type === 'positional' || name === undefined) return [value];
        const option = literal(name);
        if (input.format === 'boolean') return value === 'true' ? [option] : [];
        return value === '' ? [option] : [option, value];
      });
    },
    filled,
  };
}

/** Header names are case-insensitive. Variable names are case-sensitive. */
const isSame = (part: 'env' | 'headers', one: string, other: string) =>
  part === 'headers' ? one.toLowerCase() === other.toLowerCase() : one === other;

/** Escapes a text for the config, which expands `${NAME}`. */
export const literal = (text: string) => text.replaceAll('$', '$$$$');

function refuseOther(path: string, given: string, { choices, isSecret }: Input): void {
  if (!choices || choices.length === 0 || choices.includes(given) || given.includes('${')) return;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `${path}: ${isSecret ? 'its value' : JSON.stringify(given)} is not allowed: write ${choices.map(choice => JSON.stringify(choice)).join(' or ')}`,
  );
}
