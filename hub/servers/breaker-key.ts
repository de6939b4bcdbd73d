import type { ServerConfig } from '#config';

/** What servers that share a breaker have in common. */
export type BreakerOf = Pick<ServerConfig, 'name' | 'origin'>;

/**
 * The key of a server's breaker, which hubs share that have the same server: one of the same name whose
 * entry launches the same, as it is written. So replicas of a hub share it, also where their variables,
 * folders and limits differ, and a server that happens to have the name of another does not. What is
 * written differently counts as different: then each hub decides by itself, which is the safe mistake.
 */
export const breakerKeyOf = ({ name, origin }: BreakerOf): string =>
  origin === undefined ? name : `${name}:${origin}`;
