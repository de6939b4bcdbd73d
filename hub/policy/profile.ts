import { compilePatterns } from './patterns.ts';
import { type Decision, type Policy, type Use, restrict } from './policy.ts';

/** Servers and tools that a profile shows: all if `servers` and `tools` are empty. */
export type ProfileRules = {
  readonly name: string;
  /** Names and patterns of servers that are shown with all that they offer. */
  readonly servers: readonly string[];
  /** Names and patterns of tools on `/mcp` that are shown in addition. */
  readonly tools: readonly string[];
  /** Names and patterns of tools that are hidden. */
  readonly hiddenTools: readonly string[];
  /** Set in find mode, which lists only the pinned tools. The other tools of the profile can still be used. */
  readonly find?: { readonly pinned: readonly string[] };
};

/**
 * Returns the policy of a principal with a profile: denies items that the profile does not show, and leaves all others
 * to `base`. `rules` is undefined for a removed profile, which shows nothing; `base` if the config has no policy.
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
    // A profile that lists tools may show some of this server, so the client can use methods without an item.
    return isServer(server) || (item === undefined && (isHousekeeping || tools.length > 0));
  };
}
