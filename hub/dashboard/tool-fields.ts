import { isObject } from '#core';

type FieldBasics = {
  readonly name: string;
  /** Text of the label. Default: the name. */
  readonly label?: string;
  readonly title?: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  /** Default value in the schema; empty if there is none. */
  readonly initial: string;
};

/** An argument of a tool as a form field or a group of fields. */
export type Field = FieldBasics &
  (
    | { readonly kind: 'text' | 'prose' | 'number' | 'integer' | 'boolean' | 'json' }
    /** `texts` are the labels that people see in place of the choices. */
    | {
        readonly kind: 'choice';
        readonly choices: readonly string[];
        readonly texts?: readonly string[];
      }
    /** A list of texts or numbers, one per line. */
    | { readonly kind: 'lines'; readonly item: 'text' | 'number' | 'integer' }
    | { readonly kind: 'object'; readonly members: readonly Field[] }
    /** A list of objects. */
    | { readonly kind: 'list'; readonly members: readonly Field[] }
  );

/** Maximum number of fields. A tool with more arguments gets one field for JSON. */
const maxFields = 60;
/** Maximum depth of fields. Deeper objects are entered as JSON, which also bounds recursive schemas. */
const maxDepth = 4;

/**
 * Converts a tool's schema to form fields. Undefined if the schema is not an object with properties. Arguments without
 * a field are entered as JSON.
 */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  if (!isObject(schema)) return undefined;
  const definitions = schema['$defs'] ?? schema['definitions'];
  const fields = membersOf(schema, isObject(definitions) ? definitions : {}, 0);
  return fields && count(fields) <= maxFields ? fields : undefined;
}

const count = (fields: readonly Field[]): number =>
  fields.reduce((sum, field) => sum + 1 + ('members' in field ? count(field.members) : 0), 0);

type Definitions = Readonly<Record<string, unknown>>;

/** Returns the fields of an object schema; undefined if the schema does not name its members. */
function membersOf(
  schema: Readonly<Record<string, unknown>>,
  definitions: Definitions,
  depth: number,
): readonly Field[] | undefined {
  const { type = 'object', required } = schema;
  const members = schema['properties'] ?? {};
  // Arguments that are defined only in a subschema cannot be listed by name.
  const isComposed = ['$ref', 'allOf', 'anyOf', 'oneOf'].some(key => key in schema);
  if (type !== 'object' || !isObject(members) || isComposed) return undefined;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.entries(members).map(([name, member]) =>
    fieldOf(name, member, isRequired(name), { definitions, depth }),
  );
}

type Place = { readonly definitions: Definitions; readonly depth: number };

function fieldOf(name: string, given: unknown, isRequired: boolean, place: Place): Field {
  const schema = resolved(given, place.definitions);
  const { default: usual, title } = schema;
  const own = isObject(given) ? given['description'] : undefined;
  const description = own ?? schema['description'];
  const basics = {
    name,
    ...(typeof title === 'string' && { title }),
    description: typeof description === 'string' ? description : undefined,
    isRequired,
    initial: usual === undefined ? '' : typeof usual === 'string' ? usual : JSON.stringify(usual),
  };
  return groupOf(basics, schema, place) ?? singleOf(basics, schema);
}

/** Resolves the reference of a schema, and removes its alternative `null`. */
function resolved(given: unknown, definitions: Definitions): Readonly<Record<string, unknown>> {
  let schema = given;
  for (let steps = 0; steps < maxDepth && isObject(schema); steps++) {
    const { $ref: reference, anyOf, type } = schema;
    const [, name] =
      typeof reference === 'string'
        ? (/^#\/(?:\$defs|definitions)\/([^/~%]+)$/.exec(reference) ?? [])
        : [];
    const others = Array.isArray(anyOf) ? anyOf.filter(one => !isNull(one)) : [];
    const types = Array.isArray(type) ? type.filter(one => one !== 'null') : [];
    if (name !== undefined && Object.hasOwn(definitions, name)) schema = definitions[name];
    else if (others.length === 1) schema = { ...schema, anyOf: undefined, ...objectOr(others[0]) };
    else if (types.length === 1) return { ...schema, type: types[0] };
    else return schema;
  }
  return objectOr(schema);
}

const isNull = (schema: unknown) => isObject(schema) && schema['type'] === 'null';
const objectOr = (value: unknown) => (isObject(value) ? value : {});

/** Returns the field of an object or a list; undefined for other schemas. */
function groupOf(basics: FieldBasics, schema: Definitions, place: Place): Field | undefined {
  const { type, enum: choices } = schema;
  const { definitions, depth } = place;
  // No field for a group with a default, which would have to be split among its members.
  if (choices !== undefined || depth >= maxDepth || basics.name.includes('.')) return undefined;
  if (type === 'object' && basics.initial === '') {
    const members = isObject(schema['properties'])
      ? membersOf(schema, definitions, depth + 1)
      : undefined;
    return isListable(members) ? { ...basics, kind: 'object', members } : undefined;
  }
  if (type !== 'array' || basics.initial !== '') return undefined;
  const item = resolved(schema['items'], definitions);
  if (item['type'] === 'object' && isObject(item['properties'])) {
    const members = membersOf(item, definitions, depth + 1);
    return isListable(members) ? { ...basics, kind: 'list', members } : undefined;
  }
  const kind = kindOf(item['type']);
  if (item['enum'] !== undefined || kind === 'json' || kind === 'boolean') return undefined;
  return { ...basics, kind: 'lines', item: kind };
}

const isListable = (members: readonly Field[] | undefined): members is readonly Field[] =>
  members !== undefined && members.length > 0 && !members.some(({ name }) => name.includes('.'));

function singleOf(basics: FieldBasics, schema: Definitions): Field {
  const { enum: choices, type } = schema;
  const titled = titledChoices(schema);
  if (titled) return { ...basics, kind: 'choice', ...titled };
  if (choices !== undefined)
    return (type === undefined || type === 'string') && areTexts(choices)
      ? { ...basics, kind: 'choice', choices }
      : { ...basics, kind: 'json' };
  const kind = kindOf(type);
  return { ...basics, kind: kind === 'text' && isProse(basics) ? 'prose' : kind };
}

/** Returns the choices of `oneOf` with their titles, as questions of servers have them (MCP 2025-11-25, elicitation). */
function titledChoices({ oneOf, type }: Definitions) {
  if (type !== 'string' || !Array.isArray(oneOf)) return undefined;
  const choices = oneOf.map(one => objectOr(one)['const']);
  if (!areTexts(choices)) return undefined;
  const texts = choices.map((choice, at) => String(objectOr(oneOf[at])['title'] ?? choice));
  return { choices, texts };
}

/** True if texts of this argument often have several lines. */
const isProse = ({ name, initial }: FieldBasics) =>
  initial.includes('\n') ||
  /(?:^|_)(?:content|contents|text|body|code|prompt|message|markdown|html|script|sql|diff)s?$/i.test(
    name,
  );

function kindOf(type: unknown) {
  if (type === 'string') return 'text';
  return type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json';
}

const areTexts = (values: unknown): values is readonly string[] =>
  Array.isArray(values) && values.length > 0 && values.every(one => typeof one === 'string');
