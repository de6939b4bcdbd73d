import { z } from 'zod';
import { sizePattern } from './size.ts';

/**
 * Options for schemas that parse few values per run. By default zod compiles each object schema at its first use, which
 * takes longer than interpreting it some hundred times.
 */
export const interpreted = { jitless: true } as const;

/** Adds a description to each key of an object schema, for the generated JSON schema. */
export function describeKeys<Schema extends z.ZodObject>(
  schema: Schema,
  descriptions: Readonly<Record<keyof Schema['shape'], string>>,
): Schema {
  const texts = new Map<string, string>(Object.entries(descriptions));
  for (const [key, value] of Object.entries<z.ZodType>(schema.shape))
    value.register(z.globalRegistry, { description: texts.get(key) });
  return schema;
}

/** Returns the text of a generated JSON schema file. */
export function jsonSchemaText(schema: z.ZodType): string {
  // Editors support draft 7 completely. `io: 'input'` describes what users write, before defaults are applied.
  const json = z.toJSONSchema(schema, { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(json, undefined, 2)}\n`;
}

/** Schema of a string that matches the pattern. `rule` is the message for other strings. */
export const matching = (pattern: RegExp, rule: string) => z.string().regex(pattern, rule);

/** Schema of a name that is a part of other names and of URLs. `subject` begins the message for other strings. */
export const shortName = (subject: string) =>
  matching(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$/,
    `${subject} has 1 to 32 letters, digits, "_" and "-", and starts with a letter or digit`,
  );

/** Rule of lists of names of servers, tools and others. */
export const namesRule = 'write a name or a pattern such as "files_*", or a list of them';

/** Returns a list of names as written: one name, or several. */
export const listOf = (names: string | readonly string[] = []): readonly string[] =>
  typeof names === 'string' ? [names] : names;

/** Schema of a string that can be passed to the system, without NUL characters. */
export const text = z
  .string()
  .refine(value => !value.includes('\0'), 'write it without NUL characters');

/** Schema of a tag. Converts it to Unicode NFC, because a file and a command line may encode accents differently. */
export const tag = text.min(1).normalize();

/** Schema of a number of seconds. Its messages name the unit, which a key such as `timeout` does not. */
export function secondsBetween(least: number, most: number) {
  const rule = `write a number of seconds from ${least} to ${most}`;
  return z.number(`${rule}, without quotes`).min(least, rule).max(most, rule);
}

export const size = z.union(
  [z.int().min(1), matching(sizePattern, 'write a size such as "512m", "2g" or 1048576')],
  'write a size such as "512m", "2g" or 1048576 (bytes)',
);
