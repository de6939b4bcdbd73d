/** URL paths of the dashboard's pages. Names of servers and tools are encoded. */
export const paths = {
  overview: '/dashboard',
  activity: '/dashboard/activity',
  caches: '/dashboard/caches',
  sessions: '/dashboard/sessions',
  jobs: '/dashboard/jobs',
  access: '/dashboard/access',
  audit: '/dashboard/audit',
  install: '/dashboard/install',
  login: '/dashboard/login',
  logout: '/dashboard/logout',
  events: '/dashboard/events',
  server: (name: string) => `/dashboard/servers/${encodeURIComponent(name)}`,
  part: (name: string, part: 'state' | 'offers' | 'log') =>
    `/dashboard/servers/${encodeURIComponent(name)}/${part}-partial`,
  tool: (server: string, tool: string) =>
    `/dashboard/servers/${encodeURIComponent(server)}/tool?name=${encodeURIComponent(tool)}`,
  remove: (name: string) => `/dashboard/servers/${encodeURIComponent(name)}/remove`,
  call: (id: number) => `/dashboard/activity/${id}`,
  job: (id: string) => `/dashboard/install/${encodeURIComponent(id)}`,
  action: (action: 'start' | 'stop' | 'restart' | 'remove' | 'cancel-install', name: string) =>
    `/dashboard/actions/${action}/${encodeURIComponent(name)}`,
  clearCache: '/dashboard/actions/clear-cache',
} as const;

/** Adds a query string with the values that are defined. */
export function withQuery(
  path: string,
  values: Readonly<Record<string, string | number | undefined>>,
): string {
  const given = Object.entries(values).flatMap(([name, value]): readonly [string, string][] =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
