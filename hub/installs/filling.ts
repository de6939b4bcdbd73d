import { HubError } from '#core';
import type { Argument, Input, NamedInput } from './server-json.ts';

/** A value that whoever installs a server has to give. `path` is where in the request. */
export type Missing = {
  readonly path: string;
  readonly description: string;
  readonly isSecret: boolean;
};

/** What became of the inputs of a server. */
export type Filled = {
  readonly missing: readonly Missing[];
  /** Paths in the entry of values that are secret: `env.API_KEY`. */
  readonly secrets: readonly string[];
};

/** Makes values of what a publisher wrote and what a caller gives. */
export interface Filling {
  /** The value of one input, whose placeholders stand in `variables`; undefined where it has none. */
  fill(path: string, input: Input): string | undefined;
  /**
   * Variables or headers by name; what the caller gives goes before what the publisher wrote. One without a
   * value of its own is also looked for in `variables`, where those who read of "variables" write it.
   */
  named(
    part: 'env' | 'headers',
    inputs: readonly NamedInput[],
    given: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>>;
  /** Arguments in their order. */
  args(inputs: readonly Argument[]): readonly string[];
  filled(): Filled;
}

const placeholder = /\{([A-Za-z_][\w.-]*)\}/g;

/**
 * Values for an entry. What a publisher wrote is text and nothing more: a `${NAME}` in it would be filled in
 * from the hub's own environment, and its secrets handed to the server. What the caller gives may hold it.
 */
export function createFilling(variables: Readonly<Record<string, string>>): Filling {
  const missing: Missing[] = [];
  const secrets: string[] = [];

  function need(path: string, { description = '', isSecret = false }: Input): void {
    if (!missing.some(one => one.path === path)) missing.push({ path, description, isSecret });
  }

  /** What the caller gives, or else what the publisher says to take. */
  function chosen(path: string, key: string | undefined, input: Input): string | undefined {
    const given = key !== undefined && Object.hasOwn(variables, key) ? variables[key] : undefined;
    if (given === undefined) {
      if (input.default !== undefined) return literal(input.default);
      if (input.isRequired) need(path, input);
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
      // Braces that stand for nothing are text.
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

  return {
    fill: (path, input) => fill(path, input),
    named(part, inputs, given) {
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
    args(inputs) {
      return inputs.flatMap((input, index) => {
        const { type, name, valueHint } = input;
        const key = type === 'named' ? name : (valueHint ?? name);
        const path = key === undefined ? `args[${index}]` : `variables.${key}`;
        const given = key !== undefined && Object.hasOwn(variables, key);
        const value =
          given || input.value === undefined ? chosen(path, key, input) : fill(path, input);
        if (type === 'positional' || name === undefined) return value === undefined ? [] : [value];
        if (input.format === 'boolean') return value === 'true' ? [name] : [];
        if (value === undefined) return [];
        return value === '' ? [name] : [name, value];
      });
    },
    filled: () => ({ missing, secrets }),
  };
}

/** Names of headers differ by more than their case; those of variables do not. */
const isSame = (part: 'env' | 'headers', one: string, other: string) =>
  part === 'headers' ? one.toLowerCase() === other.toLowerCase() : one === other;

const literal = (text: string) => text.replaceAll('$', '$$$$');

function refuseOther(path: string, given: string, { choices, isSecret }: Input): void {
  if (!choices || choices.length === 0 || choices.includes(given) || given.includes('${')) return;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `${path}: ${isSecret ? 'its value' : JSON.stringify(given)} is not allowed: write ${choices.map(choice => JSON.stringify(choice)).join(' or ')}`,
  );
}
