import { HubError } from '#core';
import type { AccessSource } from './access-source.ts';

/** Looks up the names of profiles in the active config. */
export const createProfiles = (source: Pick<AccessSource, 'rules'>) => ({
  has: (name: string): boolean => source.rules.profiles.has(name),
  /** Throws HUB_PROFILE_UNKNOWN if the config has no such profile. The error lists the profiles that exist. */
  require(name: string): void {
    const { profiles } = source.rules;
    if (profiles.has(name)) return;
    const known =
      profiles.size > 0 ? `Profiles are: ${[...profiles.keys()].join(', ')}` : 'It has none';
    throw new HubError(
      'HUB_PROFILE_UNKNOWN',
      `no profile of the config is called ${JSON.stringify(name)}. ${known}. Add it to "profiles", or connect without a profile`,
      { data: { profile: name } },
    );
  },
});
