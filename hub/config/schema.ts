import { z } from 'zod';
import { isObject } from '#core';
import { agentsSchema } from './agents-schema.ts';
import { approvalsSchema } from './approvals-schema.ts';
import { activitySchema } from './activity-schema.ts';
import { auditSchema } from './audit-schema.ts';
import { catalogSchema } from './catalog-schema.ts';
import { documentationSchema } from './documentation-schema.ts';
import { clientName, clientSchema, limits } from './clients-schema.ts';
import { policySchema } from './policy-schema.ts';
import { fanOutName, fanOutSchema } from './fan-out-schema.ts';
import { profileName, profileSchema } from './profiles-schema.ts';
import { modelsSchema } from './models-schema.ts';
import { repositoriesSchema } from './repositories-schema.ts';
import { tasksSchema } from './tasks-schema.ts';
import type { SchemaKeys } from './problem.ts';
import { describeKeys, jsonSchemaText, text } from './schema-parts.ts';
import { pinningMode, serverName, serverSchema } from './server-schema.ts';

const naming = describeKeys(
  z.strictObject({
    separator: z.enum(['_', '__', '.']).default('_'),
    max_length: z.int().min(16).max(128).default(46),
  }),
  {
    separator: 'Separator between server and tool. Some clients and models refuse names with ".".',
    max_length:
      'Maximum length of a name in characters. Longer names are cut and end in a hash. Clients add a prefix of up to 18 characters.',
  },
);

const listen = describeKeys(
  z.strictObject({
    host: text.min(1).optional(),
    port: z.int().min(0).max(65_535).optional(),
  }),
  {
    host: 'Address of this machine to listen on. ROUTER_HOST overrides it.',
    port: 'Port to listen on; 0 chooses a free port. ROUTER_PORT overrides it.',
  },
);

const filePaths = z.union(
  [text.min(1), z.array(text.min(1))],
  'write the path of a file, or a list of paths',
);
const version = z
  .union([z.string(), z.number()], 'write a number or a string')
  .refine(
    value => /^1(?:\.\d+)*$/.test(String(value)),
    'this hub reads version 1 of the format: write 1',
  );

const fileOf = <T extends z.ZodType, C extends z.ZodType>(entry: T, name: z.ZodString, client: C) =>
  describeKeys(
    z.strictObject({
      $schema: z.string().optional(),
      extends: filePaths.optional(),
      version: version.optional(),
      logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).optional(),
      naming: naming.prefault({}),
      listen: listen.optional(),
      token: text.optional(),
      administration: z.enum(['on', 'off']).optional(),
      management_tools: z.boolean().optional(),
      tokens: z.enum(['optional', 'required']).optional(),
      clients: z.record(clientName, client).optional(),
      audit: auditSchema.optional(),
      activity: activitySchema.optional(),
      policy: policySchema.optional(),
      profiles: z.record(profileName, profileSchema).optional(),
      fan_out: z.record(fanOutName, fanOutSchema).optional(),
      approvals: approvalsSchema.optional(),
      catalog: catalogSchema.optional(),
      pinning: pinningMode.optional(),
      limits: limits.optional(),
      models: modelsSchema.optional(),
      agents: agentsSchema.optional(),
      tasks: tasksSchema.optional(),
      documentation: documentationSchema.optional(),
      repositories: repositoriesSchema.optional(),
      servers: z.record(name, entry).optional(),
      mcpServers: z.record(name, entry).optional(),
    }),
    {
      $schema: 'Path or URL of this schema, for editors.',
      extends:
        'A config file that this one extends, or a list of them. This file overrides all of them, and later files of the list override earlier ones. Paths are relative to the file that contains them. Objects are merged key by key, and servers by name. Lists and other values are replaced. null removes an inherited value.',
      version:
        'Version of the format of this file: 1. A hub that does not know it refuses the file.',
      logLevel:
        'Least level of the lines in the log of the hub. LOG_LEVEL overrides it. Changes take effect after a restart of the hub. Default: info.',
      naming: 'Names of tools and prompts on /mcp: <server><separator><tool>.',
      listen: 'Address on which the hub listens. Changes take effect after a restart of the hub.',
      token:
        'Bearer token that clients must send, usually "${NAME}". ROUTER_TOKEN overrides it. Changes take effect after a restart of the hub.',
      administration:
        '"off": the hub cannot be administered over HTTP. Servers can then only be changed in this file; calls still work. ROUTER_ADMINISTRATION overrides it. Changes take effect after a restart of the hub. Default: "on", which requires the owner\'s key.',
      management_tools:
        "true: MCP clients that present the owner's key are offered tools that list, start, stop and restart servers and read their logs. All other clients are neither listed these tools nor may they call them. Default: false.",
      tokens:
        '"required": calls need the token of a client or ROUTER_TOKEN on every transport but stdio. "optional": calls without a token are open to the hub\'s own user on this machine. Default: "optional". ROUTER_TOKEN always makes tokens required.',
      clients:
        'Clients by name. `agenthub token create NAME` makes the token of a client, also of one that is not listed here.',
      audit:
        'The audit log in the data folder: who called what, and every administrative change. `agenthub audit` shows it.',
      activity:
        'Recent calls without their messages, stored in the data folder for the activity of the next runs of the hub.',
      policy:
        'Rules about what clients may use. The first rule that matches decides; what no rule matches is allowed. Names and URIs are those on /mcp, also for /mcp/{server}. What is denied is not listed and cannot be called.',
      profiles:
        'Views of the servers by name, each at /mcp/@NAME. A profile shows less; it allows nothing that the policy denies, and clients may choose another one.',
      fan_out:
        'Tools of the hub, by their names on /mcp. Each calls several tools of servers with the same arguments, as the client that called it.',
      approvals: 'Calls that a rule with "action": "confirm" lets a person approve.',
      catalog:
        'The registry of MCP servers that `agenthub search` and the catalog of the dashboard ask.',
      pinning: 'What happens to tools that change, for servers without their own "pinning".',
      limits: 'Limits on the calls of callers that are not clients by name.',
      models:
        'Models of agents, and of servers that ask the hub for completions ("sampling": "hub").',
      agents:
        'Limits of agents. Those of their containers apply to containers started after a change.',
      tasks: 'Tasks that models of this hub work on.',
      documentation: 'Documentation of repositories as notes of Obsidian.',
      repositories:
        "Folders whose repositories and vaults calls may name for tasks and documentation. Links are followed before paths are compared. Any other folder needs the owner's key. In a container only folders below AGENTHUB_MOUNT_ROOT are there. Default: none.",
      servers: 'Servers by name. They start at their first call unless "auto_start" is true.',
      mcpServers:
        'Servers by name, in the format of MCP clients. They start with the hub unless "auto_start" is false.',
    },
  );

/** JSON Schema of the config file, the content of `configs/hub.schema.json`. */
export function schemaJson(): string {
  const removed = z.null().describe('Removes a server that a file in "extends" defines.');
  const noClient = z.null().describe('Removes a client that a file in "extends" defines.');
  const client = z.union([clientSchema, noClient]);
  const file = fileOf(z.union([serverSchema, removed]), serverName, client).meta({
    title: 'AgentHub',
    description:
      'The MCP servers behind the hub. Strings may contain ${NAME}, ${NAME:-default} and ${secret:NAME}; $$ is a dollar sign.',
  });
  return jsonSchemaText(file);
}

/** Schema of a config file without its servers, which are parsed one by one, so that each reports its own problems. */
export const envelopeSchema = fileOf(z.unknown(), z.string(), clientSchema);

/**
 * JSON schema of the config file, cached because a file may have thousands of unknown keys and parsing takes
 * milliseconds.
 */
let parsed: unknown;

/** Known keys by path. All entries of servers share the same paths. */
const keysByPath = new Map<string, readonly string[]>();
const maxPaths = 1_000;

/** The keys of a config file, for messages. */
export const configKeys: SchemaKeys = { keysAt: knownKeys, command: 'agenthub schema' };

/** Returns the known keys of the object at a path, for "did you mean" hints. Empty if no object is expected there. */
function knownKeys(path: readonly (string | number)[]): readonly string[] {
  const isInEntry = (path[0] === 'servers' || path[0] === 'mcpServers') && path.length > 1;
  const parts = isInEntry ? path.slice(2) : path;
  const key = JSON.stringify([isInEntry, parts]);
  const known = keysByPath.get(key);
  if (known) return known;
  if (keysByPath.size >= maxPaths) keysByPath.clear();
  const found = findKeys(isInEntry, parts);
  keysByPath.set(key, found);
  return found;
}

function findKeys(isInEntry: boolean, parts: readonly (string | number)[]): readonly string[] {
  parsed ??= JSON.parse(schemaJson());
  const file = parsed;
  const definitions = isObject(file) ? file['definitions'] : undefined;
  // Both sections of servers refer to one definition, the schema of an entry.
  const start = isInEntry && isObject(definitions) ? definitions['server'] : file;
  return parts
    .reduce<readonly unknown[]>(
      (schemas, part) => schemas.flatMap(schema => insideOf(schema, part)),
      [start],
    )
    .flatMap(alternativesOf)
    .flatMap(object => [...namedKeys(object).keys()]);
}

type Members = { readonly [name: string]: unknown };

/** Returns the members of a union, including those of unions in it; a list of the schema alone if it is no union. */
function alternativesOf(schema: unknown): readonly Members[] {
  if (!isObject(schema)) return [];
  const { anyOf } = schema;
  return Array.isArray(anyOf) ? anyOf.flatMap(alternativesOf) : [schema];
}

/** Returns the keys of an object schema, with the schemas of their values. */
const namedKeys = ({ properties }: Members) =>
  new Map(isObject(properties) ? Object.entries(properties) : []);

/** Returns the schemas that apply to the value at a key or index. */
const insideOf = (schema: unknown, part: string | number): readonly unknown[] =>
  alternativesOf(schema).map(object =>
    typeof part === 'number'
      ? object['items']
      : (namedKeys(object).get(part) ?? object['additionalProperties']),
  );
