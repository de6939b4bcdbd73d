import { type Principal, withProfile } from '#policy';
import type { Endpoint, Router } from '#routing';
import type { Servers } from '#servers';

/** Resolves the paths of MCP endpoints: `/mcp`, `/mcp/{server}` and `/mcp/@{profile}`. */
export type McpPaths = ReturnType<typeof createMcpPaths>;

type McpPathsNeeds = {
  readonly servers: Pick<Servers, 'find' | 'get'>;
  readonly profiles: Router['profiles'];
};

const serverStart = '/mcp/';
const profileStart = '/mcp/@';

/** Removes a slash at the end, which people often write in MCP addresses. */
export const withoutLastSlash = (url: string): string =>
  url.replace(/^(\/(?:mcp|sse)(?:\/[^/?]+)?)\/(?=\?|$)/, '$1');

/** Finds the endpoints of paths, and the profiles that filter them. */
export function createMcpPaths({ servers, profiles }: McpPathsNeeds) {
  return {
    /**
     * Returns the endpoint of a path; undefined for a path that is no MCP endpoint, and for an unknown server or
     * profile.
     */
    endpointOf(path: string): Endpoint | undefined {
      if (path === '/mcp') return 'all';
      if (path.startsWith(profileStart))
        return profiles.has(path.slice(profileStart.length)) ? 'all' : undefined;
      return path.startsWith(serverStart)
        ? servers.find(path.slice(serverStart.length))
        : undefined;
    },
    /** Returns the principal with the profile of a path that `endpointOf` found. */
    viewer: (principal: Principal, path: string): Principal =>
      path.startsWith(profileStart)
        ? withProfile(principal, path.slice(profileStart.length))
        : principal,
    /**
     * Returns the endpoint and principal for a name in a path: a server, a profile after "@", or nothing. Throws
     * HUB_SERVER_UNKNOWN and HUB_PROFILE_UNKNOWN.
     */
    get(
      name: string | undefined,
      principal: Principal,
    ): { readonly endpoint: Endpoint; readonly viewer: Principal } {
      if (name === undefined) return { endpoint: 'all', viewer: principal };
      if (!name.startsWith('@')) return { endpoint: servers.get(name), viewer: principal };
      const profile = name.slice(1);
      profiles.require(profile);
      return { endpoint: 'all', viewer: withProfile(principal, profile) };
    },
  };
}
