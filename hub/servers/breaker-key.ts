import type { ServerConfig } from '#config';

/** The parts of a config that identify a breaker. */
export type BreakerOf = Pick<ServerConfig, 'name' | 'origin'>;

/**
 * The key of a server's breaker, which hubs share if their servers have the same name and the same launch, as
 * written in the entry. Replicas of a hub share it even if variables, folders and limits differ; unrelated servers
 * of the same name do not. Entries written differently have different keys, which errs on the safe side.
 */
export const breakerKeyOf = ({ name, origin }: BreakerOf): string =>
  origin === undefined ? name : `${name}:${origin}`;
