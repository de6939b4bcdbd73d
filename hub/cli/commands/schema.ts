import { schemaJson } from '#config';
import type { Command } from '../command.ts';

/** `agenthub schema`: the JSON Schema of the config file. */
export function createSchema(): Command {
  return {
    name: 'schema',
    summary: 'Print the JSON Schema of the config file.',
    options: {},
    async run(_values, { out }) {
      out(schemaJson().trimEnd());
      return 0;
    },
  };
}
