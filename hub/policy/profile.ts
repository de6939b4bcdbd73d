import type { Decision } from './decision.ts';
import { compilePatterns } from './patterns.ts';
import { type Policy, type Use, restrict } from './policy.ts';

/** What a profile shows. All of it if `servers` and `tools` are empty. */
export type ProfileRules = {
  readonly name: string;
  /** Names and patterns of servers, everything of which is shown. */
  readonly servers: readonly string[];
  /** Names and patterns of tools on `/mcp` that are shown as well. */
  readonly tools: readonly string[];
  /** Names and patterns of tools that are not shown. */
  readonly hiddenTools: readonly string[];
  /** Set in find mode, which lists no other tools than these. It changes lists, not what may be used. */
  readonly find?: { readonly pinned: readonly string[] };
};

/**
 * The policy of a principal that looks through a profile: what the profile leaves out is denied, and the rest is decided
 * by `base`. Undefined rules, those of a profile that was removed, show nothing. Undefined `base`: no config says otherwise.
 */
export function restrictToProfile(
  name: string,
  rules: ProfileRules | undefined,
  base: Policy | undefined,
): Policy {
  const shows = rules ? compileProfile(rules) : () => false;
  const leftOut: Decision = {
    action: 'deny',
    rule: `profiles.${name}`,
    reason: rules
      ? `the profile ${JSON.stringify(name)} does not show it. Add it to profiles.${name} in the config, or connect without the profile`
      : `the profile ${JSON.stringify(name)} is no longer in the config. Connect without it, or with another`,
  };
  return restrict(base, shows, leftOut);
}

function compileProfile({ servers, tools, hiddenTools }: ProfileRules): (use: Use) => boolean {
  const isEverything = servers.length === 0 && tools.length === 0;
  const isServer = compilePatterns(isEverything ? ['*'] : servers);
  const isTool = compilePatterns(tools);
  const isHidden = compilePatterns(hiddenTools);
  return ({ server, item, isHousekeeping = false }) => {
    if (server === undefined) return true;
    if (item?.kind === 'tool')
      return !isHidden(item.name) && (isServer(server) || isTool(item.name));
    // Some tools of another server may be shown, whose messages the client then gets.
    return isServer(server) || (item === undefined && (isHousekeeping || tools.length > 0));
  };
}
