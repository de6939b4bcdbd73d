import { z } from 'zod';
import { fileSchema } from './schema.ts';

/** The JSON Schema of the config file, as `configs/hub.schema.json` holds it. */
export function schemaJson(): string {
  // Draft 7 is what editors understand completely. The schema is of what a person writes: `input`.
  const schema = z.toJSONSchema(fileSchema, { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
