type Action =
  | 'start'
  | 'stop'
  | 'restart'
  | 'remove'
  | 'oauth-login'
  | 'oauth-logout'
  | 'cancel-install'
  | 'agent-stop'
  | 'agent-remove'
  | 'task-run'
  | 'task-cancel'
  | 'task-finalize'
  | 'task-verdict'
  | 'approve'
  | 'approve-always'
  | 'deny'
  | 'approval-remove'
  | 'pins-accept'
  | 'pins-reject'
  | 'token-revoke'
  | 'tool-switch'
  | 'run-cancel'
  | 'run-answer'
  | 'upgrade'
  | 'rollback';

/** URL paths of the dashboard's pages. Names of servers, tools, agents and files are encoded. */
export const paths = {
  overview: '/dashboard',
  activity: '/dashboard/activity',
  caches: '/dashboard/caches',
  sessions: '/dashboard/sessions',
  connect: '/dashboard/connect',
  connectPart: '/dashboard/connect-partial',
  jobs: '/dashboard/jobs',
  agents: '/dashboard/agents',
  tasks: '/dashboard/tasks',
  approvals: '/dashboard/approvals',
  approvalsBadge: '/dashboard/approvals-badge',
  pins: '/dashboard/pins',
  pinsBadge: '/dashboard/pins-badge',
  access: '/dashboard/access',
  audit: '/dashboard/audit',
  revocation: (client: string) => `/dashboard/access/${encodeURIComponent(client)}/revoke`,
  install: '/dashboard/install',
  catalog: '/dashboard/catalog',
  catalogServer: '/dashboard/catalog/server',
  login: '/dashboard/login',
  authorize: '/dashboard/authorize',
  logout: '/dashboard/logout',
  events: '/dashboard/events',
  server: (name: string) => `/dashboard/servers/${encodeURIComponent(name)}`,
  part: (name: string, part: 'state' | 'offers' | 'pins' | 'log' | 'run') =>
    `/dashboard/servers/${encodeURIComponent(name)}/${part}-partial`,
  /** Returns the path of a tool's page. `more` has further query parameters. */
  tool: (server: string, tool: string, more: Readonly<Record<string, string>> = {}) =>
    `/dashboard/servers/${encodeURIComponent(server)}/tool?name=${[encodeURIComponent(tool), ...Object.entries(more).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)].join('&')}`,
  versions: '/dashboard/versions',
  upgrade: (name: string) => `/dashboard/servers/${encodeURIComponent(name)}/upgrade`,
  remove: (name: string) => `/dashboard/servers/${encodeURIComponent(name)}/remove`,
  call: (id: number) => `/dashboard/activity/${id}`,
  job: (id: string) => `/dashboard/install/${encodeURIComponent(id)}`,
  agent: (id: string) => `/dashboard/agents/${encodeURIComponent(id)}`,
  agentPart: (id: string, part: 'state' | 'conversation' | 'files') =>
    `/dashboard/agents/${encodeURIComponent(id)}/${part}-partial`,
  /** Returns the path of an agent's file. `path` is relative to the agent's workspace. */
  agentFile: (id: string, path: string) =>
    `/dashboard/agents/${encodeURIComponent(id)}/files/${path.split('/').map(encodeURIComponent).join('/')}`,
  agentRemoval: (id: string) => `/dashboard/agents/${encodeURIComponent(id)}/remove`,
  task: (id: string) => `/dashboard/tasks/${encodeURIComponent(id)}`,
  taskPart: (id: string, part: 'state' | 'work') =>
    `/dashboard/tasks/${encodeURIComponent(id)}/${part}-partial`,
  messageCancel: (id: string, message: string) =>
    `/dashboard/actions/agent-cancel/${encodeURIComponent(id)}/${encodeURIComponent(message)}`,
  action: (action: Action, name: string) =>
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
