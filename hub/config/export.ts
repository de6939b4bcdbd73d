import { z } from 'zod';
import { createFileSchema } from './schema.ts';

/** JSON Schema of the config file, the content of `configs/hub.schema.json`. */
export function schemaJson(): string {
  // Editors support draft 7 completely. `io: 'input'` describes what users write, before defaults are applied.
  const schema = z.toJSONSchema(createFileSchema(), { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
