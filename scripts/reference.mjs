// Writes docs/reference.md: every key of the config, from its schema. Run it after a change of configs/hub.schema.json:
// a test fails if docs/reference.md is out of date. `--print` writes to stdout.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const introduction = `# Config reference

Every key of the config file, from its schema ([configs/hub.schema.json](../configs/hub.schema.json), which editors can use). How to write a
config, with examples: [configure.md](configure.md).
`;

/** Returns the page for a JSON schema whose servers are described by `definitions.server`. */
function referenceOf(schema) {
  const { server } = schema.definitions;
  const keys = Object.entries(schema.properties).filter(([key]) => key !== '$schema');
  return [
    introduction,
    '## The file\n',
    ...keys.flatMap(entry => section(entry, schema.definitions)),
    '## A server\n',
    'An entry of `servers` or `mcpServers`.\n',
    ...Object.entries(server.properties).flatMap(entry => section(entry, schema.definitions)),
  ].join('\n');
}

function section([key, schema], definitions) {
  const lines = [
    `### \`${key}\`\n`,
    [schema.description, factsOf(schema)].filter(Boolean).join(' '),
  ];
  const rows = rowsOf(schema, '', definitions);
  if (rows.length > 0) lines.push('', '| key | meaning |', '| --- | --- |', ...rows);
  return [...lines, ''];
}

/** Returns a table row for each key in an object, at any depth. */
function rowsOf(schema, prefix, definitions) {
  if (schema.$ref) return [];
  const inside = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    return [
      `| \`${prefix}${key}\` | ${textOf(value).replaceAll('|', String.raw`\|`)} |`,
      ...rowsOf(value, `${prefix}${key}.`, definitions),
    ];
  });
  const forms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const entries = schema.additionalProperties;
  return [
    ...inside,
    ...forms.flatMap(form => rowsOf(form, prefix, definitions)),
    ...(isSchema(entries) ? rowsOf(entries, `${prefix}NAME.`, definitions) : []),
    ...(isSchema(schema.items) ? rowsOf(schema.items, `${prefix}[].`, definitions) : []),
  ];
}

const isSchema = value => typeof value === 'object' && value !== null;

/** Returns the description of a value as Markdown, with its allowed values, limits and default from the schema. */
function textOf(schema) {
  const description = (schema.description ?? '')
    .replaceAll(/[*<[]/g, String.raw`\$&`)
    .replaceAll('\n', ' ');
  return [description, factsOf(schema)].filter(Boolean).join(' ');
}

function factsOf({ description = '', enum: values, default: initial, minimum, maximum, type }) {
  const facts = [];
  if (values) facts.push(`One of ${values.map(code).join(', ')}.`);
  const isNumber = type === 'number' || type === 'integer';
  if (
    isNumber &&
    minimum !== undefined &&
    maximum !== undefined &&
    maximum < Number.MAX_SAFE_INTEGER
  )
    facts.push(`From ${minimum} to ${maximum}.`);
  const isEmpty = isSchema(initial) && Object.keys(initial).length === 0;
  if (initial !== undefined && !isEmpty && !description.includes('Default:'))
    facts.push(`Default: ${code(initial)}.`);
  return facts.join(' ');
}

const code = value => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

const root = path.dirname(import.meta.dirname);
const schema = JSON.parse(readFileSync(path.join(root, 'configs', 'hub.schema.json'), 'utf8'));
if (process.argv.includes('--print')) process.stdout.write(referenceOf(schema));
else writeFileSync(path.join(root, 'docs', 'reference.md'), referenceOf(schema));
