import { z } from 'zod';

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

/** The text of a generated JSON schema file. */
export function jsonSchemaText(schema: z.ZodType): string {
  // Editors support draft 7 completely. `io: 'input'` describes what users write, before defaults are applied.
  const json = z.toJSONSchema(schema, { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(json, undefined, 2)}\n`;
}
