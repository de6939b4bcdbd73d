import { compilePatterns } from './patterns.ts';
import { type Decision, type Policy, type Use, restrict } from './policy.ts';

/** Tools that an agent may use: by patterns of tool names on /mcp, and all tools of the named servers. */
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

const closed: Decision = {
  action: 'deny',
  rule: 'grants',
  reason: 'no agent can use the tools of the hub itself, also with a grant',
};

/**
 * Returns the policy of an agent: denies every use without a grant, and leaves all others to `base`. `isClosed`: true
 * for servers that no agent may use. `base` is undefined if the config has no policy.
 */
export function restrictToGrants(
  { tools, servers }: ToolGrants,
  base: Policy | undefined,
  isClosed: (server: string) => boolean,
): Policy {
  const isTool = compilePatterns(tools);
  const isServer = compilePatterns(servers);
  const isGranted = ({ item, server }: Use): boolean =>
    item?.kind === 'tool' && server !== undefined && (isServer(server) || isTool(item.name));
  const isOpen = ({ server }: Use): boolean => server === undefined || !isClosed(server);
  return restrict(restrict(base, isGranted, notGranted), isOpen, closed);
}
