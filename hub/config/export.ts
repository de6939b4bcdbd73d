import { z } from 'zod';
import { createFileSchema } from './schema.ts';

/** The JSON Schema of the config file, as `configs/hub.schema.json` holds it. */
export function schemaJson(): string {
  // Draft 7 is what editors understand completely. The schema is of what a person writes: `input`.
  const schema = z.toJSONSchema(createFileSchema(), { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
