import { isObject } from '#core';

/** One argument of a tool, as a field of a form. */
export type Field = {
  readonly name: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  /** What the field holds at first. */
  readonly initial: string;
} & (
  | { readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'json' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
);

/** A schema with more arguments is filled in as JSON. */
const maxFields = 60;

/**
 * The arguments that a schema describes; undefined where it does not describe an object by its members. What
 * is neither text, number, boolean nor one of several texts is written as JSON.
 */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  if (!isObject(schema) || (schema['type'] !== undefined && schema['type'] !== 'object'))
    return undefined;
  const members = schema['properties'] ?? {};
  // What stands only in a part that may apply is not known by its name here.
  if (!isObject(members) || ['$ref', 'allOf', 'anyOf', 'oneOf'].some(key => key in schema))
    return undefined;
  const entries = Object.entries(members);
  if (entries.length > maxFields) return undefined;
  const required = schema['required'];
  return entries.map(([name, member]) =>
    fieldOf(name, member, Array.isArray(required) && required.includes(name)),
  );
}

function fieldOf(name: string, schema: unknown, isRequired: boolean): Field {
  const about = isObject(schema) ? schema : {};
  const { description, default: usual } = about;
  const common = {
    name,
    description: typeof description === 'string' ? description : undefined,
    isRequired,
    initial: usual === undefined ? '' : typeof usual === 'string' ? usual : JSON.stringify(usual),
  };
  const choices = choicesOf(about);
  if (choices) return { ...common, kind: 'choice', choices };
  return { ...common, kind: kindOf(about) };
}

function choicesOf({ enum: choices, type }: { readonly [key: string]: unknown }) {
  if (type !== undefined && type !== 'string') return undefined;
  if (!Array.isArray(choices) || choices.length === 0) return undefined;
  const texts = choices.filter(choice => typeof choice === 'string');
  return texts.length === choices.length ? texts : undefined;
}

function kindOf({ type, enum: choices }: { readonly [key: string]: unknown }) {
  if (choices !== undefined) return 'json';
  switch (type) {
    case 'string':
      return 'text';
    case 'number':
    case 'integer':
    case 'boolean':
      return type;
    default:
      return 'json';
  }
}
