import { HubError, type Json, isObject } from '#core';

/** One argument of a tool as a form field. */
export type Field = {
  readonly name: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly initial: string;
} & (
  | { readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'json' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
);

/** Form field name of an argument. */
export const argumentName = (name: string): string => `arg.${name}`;
/** Form field name of all arguments as JSON. */
export const jsonName = 'json';

/** Maximum number of fields. A tool with more arguments gets one field for JSON. */
const maxFields = 60;

/**
 * Converts a tool's schema to form fields. Undefined if the schema is not an object with properties. Arguments that
 * are not strings, numbers, booleans or enums of strings are entered as JSON.
 */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  if (!isObject(schema) || (schema['type'] !== undefined && schema['type'] !== 'object'))
    return undefined;
  const members = schema['properties'] ?? {};
  // Arguments that are defined only in a subschema cannot be listed by name.
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

/** The arguments in a form. Empty optional fields are omitted. Throws HUB_REQUEST_INVALID. */
export function argumentsOf(
  fields: readonly Field[] | undefined,
  given: ReadonlyMap<string, string>,
): { readonly [name: string]: Json } {
  const all = given.get(jsonName)?.trim() ?? '';
  if (all !== '' || !fields) return objectOf(all);
  return Object.fromEntries(
    fields.flatMap(field => {
      const text = given.get(argumentName(field.name)) ?? '';
      if (text === '') {
        if (field.isRequired) throw invalid(`${field.name}: is missing: fill in the field`);
        return [];
      }
      return [[field.name, valueOf(field, text)] as const];
    }),
  );
}

function valueOf({ name, kind }: Field, text: string): Json {
  switch (kind) {
    case 'text':
    case 'choice':
      return text;
    case 'boolean':
      if (text !== 'true' && text !== 'false')
        throw invalid(`${name}: ${shownOf(text)} is no boolean: write true or false`);
      return text === 'true';
    case 'number':
    case 'integer': {
      const value = Number(text);
      if (!Number.isFinite(value) || (kind === 'integer' && !Number.isInteger(value)))
        throw invalid(`${name}: ${shownOf(text)} is no ${kind}`);
      return value;
    }
    case 'json':
      return jsonOf(name, text);
  }
}

const shownOf = (text: string) => JSON.stringify(text.slice(0, 60));

function objectOf(text: string): { readonly [name: string]: Json } {
  const value = jsonOf('the arguments', text === '' ? '{}' : text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value));
  throw invalid('the arguments: write an object: {"name": "value"}');
}

function jsonOf(name: string, text: string): Json {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HubError('HUB_REQUEST_INVALID', `${name}: is no JSON: write a value as JSON has it`, {
      cause,
    });
  }
}

const invalid = (message: string) => new HubError('HUB_REQUEST_INVALID', message);
