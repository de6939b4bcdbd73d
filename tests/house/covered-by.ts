/** Files with branches that have no test of their own name, below the test that covers them. */
export const coveredBy: Readonly<Record<string, readonly string[]>> = {
  'cache/redis-cache': ['cache/redis-client'],
  'cli/main': ['main'],
  'system/fleet': ['app/wire-servers'],
  'system/lifecycle': ['app/app'],
  'system/observability': ['app/wire-observers'],
};
