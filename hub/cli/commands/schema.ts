import { rulesSchemaJson, schemaJson } from '#config';
import type { Command } from '../command.ts';

/** `agenthub schema`: prints the JSON Schema of the config file. */
export function createSchema(): Command {
  return {
    name: 'schema',
    summary: 'Print the JSON Schema of the config file.',
    options: {
      rules: { type: 'boolean', help: 'Print the schema of the rules file for prompts instead.' },
    },
    examples: [['schema > hub.schema.json', 'Save it for an editor']],
    async run({ rules }, { out }) {
      out((rules === true ? rulesSchemaJson() : schemaJson()).trimEnd());
      return 0;
    },
  };
}
