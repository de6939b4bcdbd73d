import { z } from 'zod';
import { describeKeys, namesRule, text } from './schema-parts.ts';

const names = z.union(
  [
    text.min(1),
    z
      .array(text.min(1))
      .refine(
        list => list.length > 0,
        'is an empty list, which matches nothing: write a name, or remove the key',
      ),
  ],
  namesRule,
);

const annotationsSchema = describeKeys(
  z.strictObject({
    readOnlyHint: z.boolean().exactOptional(),
    destructiveHint: z.boolean().exactOptional(),
    idempotentHint: z.boolean().exactOptional(),
    openWorldHint: z.boolean().exactOptional(),
  }),
  {
    readOnlyHint: 'The tool changes nothing. If the server does not say it: false.',
    destructiveHint:
      'The tool may delete or overwrite. If the server does not say it: true, and false for a tool with "readOnlyHint".',
    idempotentHint:
      'Calling the tool again with the same arguments changes nothing more. If the server does not say it: false.',
    openWorldHint:
      'The tool reaches other systems, such as the web. If the server does not say it: true.',
  },
);

const ruleSchema = describeKeys(
  z.strictObject({
    clients: names.exactOptional(),
    servers: names.exactOptional(),
    tools: names.exactOptional(),
    resources: names.exactOptional(),
    prompts: names.exactOptional(),
    methods: names.exactOptional(),
    annotations: annotationsSchema.exactOptional(),
    action: z.enum(['allow', 'deny', 'confirm']),
    reason: text.min(1).exactOptional(),
  }),
  {
    clients:
      'Names of clients, or patterns with "*". "local": programs of the hub\'s own user without a token. "token": ROUTER_TOKEN. "owner": the owner\'s key and the dashboard. "stdio": the client on stdin. "agent:*": agents. Default: all clients.',
    servers: 'Names of servers, or patterns. Default: all servers.',
    tools:
      'Tools by their names on /mcp, such as "files_write_file", or patterns. A rule that names only tools matches no resources, prompts or other requests.',
    resources:
      'Resources by their URIs on /mcp, or patterns. Templates match by their URI template. A rule that names only resources matches no tools, prompts or other requests.',
    prompts:
      'Prompts by their names on /mcp, or patterns. A rule that names only prompts matches no tools, resources or other requests.',
    methods:
      'MCP methods such as "tools/call", or patterns such as "resources/*". Default: all methods. "initialize", "ping" and "server/discover" are always allowed.',
    annotations:
      'Hints of tools, all of which must hold. The rule then matches only tools. Hints are claims of the server.',
    action:
      'What happens to what the rule matches. "confirm" matches only tools: they are listed, and a person approves each call. The user of the client is asked where the client can ask; otherwise the owner of the hub approves it with `agenthub approve`.',
    reason: 'Why, for the person who reads the refusal.',
  },
);

export const policySchema = z.array(ruleSchema).max(1_000);

export type WrittenRule = z.output<typeof ruleSchema>;
type OtherKeys = Pick<WrittenRule, 'annotations' | 'action' | 'reason'>;

/** A rule of the policy. A list that is absent matches everything. */
export type PolicyRule = {
  readonly [list in Exclude<keyof WrittenRule, keyof OtherKeys>]?: readonly string[];
} & Readonly<OtherKeys>;
