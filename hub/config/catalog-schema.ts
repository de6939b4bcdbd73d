import { z } from 'zod';
import { describeKeys, interpreted } from './schema-parts.ts';

/** URL of the official MCP Registry. */
const officialRegistry = 'https://registry.modelcontextprotocol.io';

const address = z
  .string()
  .max(2_000)
  .regex(
    /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/i,
    'write a URL that starts with http:// or https://',
  );

export const catalogSchema = describeKeys(
  z.strictObject({
    enabled: z.boolean().default(true),
    url: address.default(officialRegistry),
    max_age: z.number().min(0).max(86_400).default(600),
  }),
  {
    enabled: 'false: the hub asks no registry of MCP servers. Default: true.',
    url: `Base URL of the registry that "agenthub search" and the dashboard ask (API v0.1). Default: ${officialRegistry}.`,
    max_age:
      'Seconds for which an answer of the registry is used again without asking. Default: 600.',
  },
);

/** Options of `catalog` in the config. `url` does not end with a slash. */
export type CatalogConfig = Readonly<ReturnType<typeof readCatalog>>;

/** Converts the options as written. Returns the defaults if there are none. */
export const readCatalog = (written = catalogSchema.parse({}, interpreted)) => ({
  enabled: written.enabled,
  url: written.url.replace(/\/+$/, ''),
  maxAgeMs: written.max_age * 1_000,
});
