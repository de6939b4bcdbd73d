import type { Decision } from './decision.ts';
import { compilePatterns } from './patterns.ts';
import { type Policy, type Use, restrict } from './policy.ts';

/** What an agent may use: tools by patterns of their names on /mcp, and all tools of servers. */
export type ToolGrants = {
  readonly tools: readonly string[];
  readonly servers: readonly string[];
};

const notGranted: Decision = {
  action: 'deny',
  rule: 'grants',
  reason:
    'the agent has no grant for it. The owner of the hub can give one: agenthub agent configure',
};

/**
 * The policy of an agent: what is not granted is denied, and what is granted is decided by `base`. `isClosed`: servers of
 * which no agent may use anything. Undefined `base`: no config says otherwise.
 */
export function restrictToGrants(
  { tools, servers }: ToolGrants,
  base: Policy | undefined,
  isClosed: (server: string) => boolean,
): Policy {
  const isTool = compilePatterns(tools);
  const isServer = compilePatterns(servers);
  const isGranted = ({ item, server }: Use): boolean =>
    item?.kind === 'tool' &&
    server !== undefined &&
    !isClosed(server) &&
    (isServer(server) || isTool(item.name));
  return restrict(base, isGranted, notGranted);
}
