import { z } from 'zod';
import {
  entryKeys,
  mount,
  resources,
  serverName,
  serverSchema,
  text,
  volume,
} from './server-schema.ts';

const naming = z.strictObject({
  separator: z
    .enum(['_', '__', '.'])
    .default('_')
    .describe('Between server and tool. Some clients and models refuse names with ".".'),
  max_length: z
    .int()
    .min(16)
    .max(128)
    .default(46)
    .describe(
      'Longest name, in characters; longer ones end in a hash. Clients put up to 18 in front of it.',
    ),
});

const listen = z.strictObject({
  host: text.min(1).optional().describe('An address of this machine; ROUTER_HOST goes before it.'),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('0 is any free port; ROUTER_PORT goes before it.'),
});

function fileOf<T extends z.ZodType>(entry: T, name: z.ZodString) {
  return z.strictObject({
    $schema: z.string().optional().describe('Where this schema is, for editors.'),
    extends: z
      .union([text.min(1), z.array(text.min(1))], 'write the path of a file, or a list of paths')
      .optional()
      .describe(
        'A config file, or a list of them, that this one is laid over; of a list each over those before it. Paths are relative to the file in which they stand. Objects are merged key by key, servers by their names; lists and other values are replaced; null takes away what the files below say.',
      ),
    version: z
      .union([z.string(), z.number()], 'write a number or a string')
      .optional()
      .describe('Accepted as clients write it; without effect.'),
    logLevel: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
      .optional()
      .describe('Accepted as clients write it; LOG_LEVEL in the environment sets the level.'),
    naming: naming
      .prefault({})
      .describe('How tools and prompts are named on /mcp: <server><separator><tool>.'),
    listen: listen
      .optional()
      .describe('Where the hub listens for clients. Takes effect when the hub is started again.'),
    token: text
      .optional()
      .describe(
        'What clients must carry as a bearer token, mostly "${NAME}"; ROUTER_TOKEN goes before it. Takes effect when the hub is started again.',
      ),
    administration: z
      .enum(['on', 'off'])
      .optional()
      .describe(
        'With "off" nobody administers the hub over HTTP: servers are changed in this file only, and calls go on. ROUTER_ADMINISTRATION goes before it. Takes effect when the hub is started again. Default: on, for whoever has the owner\'s key.',
      ),
    servers: z
      .record(name, entry)
      .optional()
      .describe('The servers by name, started at their first call unless "auto_start" is set.'),
    mcpServers: z
      .record(name, entry)
      .optional()
      .describe(
        'The servers by name, as MCP clients write them: all start with the hub unless "auto_start" is false.',
      ),
  });
}

/** Schema of the whole file. Only used to generate `configs/hub.schema.json`. */
export const createFileSchema = () =>
  fileOf(
    z.union([serverSchema, z.null().describe('Takes away a server of a file in "extends".')]),
    serverName,
  ).meta({
    title: 'AgentHub',
    description:
      'The MCP servers behind the hub. Strings may hold ${NAME} and ${NAME:-default}; $$ is a dollar sign.',
  });

/**
 * Schema of the file without its servers. Each server is parsed on its own, so that each reports its own problems.
 */
export const envelopeSchema = fileOf(z.unknown(), z.string());

/** The known keys of the object at a path, for "did you mean" hints. */
export function knownKeys(path: readonly (string | number)[]): readonly string[] {
  const [, , part] = path;
  if (path.length === 0) return Object.keys(envelopeSchema.shape);
  if (path.length === 1) return Object.keys(path[0] === 'listen' ? listen.shape : naming.shape);
  if (part === 'resources') return Object.keys(resources.shape);
  if (part === 'mounts') return Object.keys(mount.shape);
  if (part === 'volumes') return Object.keys(volume.shape);
  return entryKeys;
}
