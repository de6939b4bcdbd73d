import { type Principal, compilePatterns } from '#policy';
import { profileOf } from '../access-policies.ts';
import type { AccessRules } from '../access-source.ts';

/** Which tools a client in find mode lists. */
type FindView = {
  /** True for a tool that is listed, given by its public name. */
  readonly isPinned: (publicName: string) => boolean;
};

/**
 * Creates a function that returns the view of a principal; undefined if it is not in find mode. If `finds` is false,
 * no principal is in find mode.
 */
export function createFindViews(finds = false) {
  const views = new WeakMap<AccessRules, Map<string, FindView>>();

  return (principal: Principal, rules: AccessRules): FindView | undefined => {
    const profile = profileOf(principal, rules);
    const find = profile === undefined || !finds ? undefined : rules.profiles.get(profile)?.find;
    if (profile === undefined || !find) return undefined;
    const ofRules = views.get(rules) ?? new Map<string, FindView>();
    views.set(rules, ofRules);
    const view = ofRules.get(profile) ?? { isPinned: compilePatterns(find.pinned) };
    ofRules.set(profile, view);
    return view;
  };
}
