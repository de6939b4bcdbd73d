import { z } from 'zod';
import { describeKeys, size, text } from './schema-parts.ts';

/** Maximum number of tools in the list. */
const maxTools = 1_000;

/** Schema of `cache` of a server: the tools whose results are cached. */
export const keptResults = describeKeys(
  z.strictObject({
    tools: z.array(text.min(1)).min(1).max(maxTools),
    ttl: z.number().min(1).max(86_400),
    per: z.enum(['client', 'all']).default('client'),
    hints: z.enum(['both', 'read_only']).default('both'),
    max_size: size.default('16m'),
  }),
  {
    tools:
      'Tools of the server, by its own names. Results of tools that do not declare the hints that "hints" requires are not kept; the log and GET /servers name these tools.',
    ttl: 'Seconds for which a result is kept, at most 86400.',
    per: '"client": a result is given only to the client that called. "all": to everybody who may use the tool.',
    hints:
      'What a tool must declare. "both": "readOnlyHint" and "idempotentHint". "read_only": "readOnlyHint" alone, which many servers set, as MCP gives "idempotentHint" a meaning for tools that write.',
    max_size:
      'Maximum size of all kept results of the server, such as "16m". The least recently used go first.',
  },
);
