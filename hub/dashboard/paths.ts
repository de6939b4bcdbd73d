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

/** Encodes a name for a URL. A lone surrogate, which no URL can contain, is replaced by U+FFFD. */
const encoded = (name: string): string => encodeURIComponent(name.toWellFormed());

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
  revocation: (client: string) => `/dashboard/access/${encoded(client)}/revoke`,
  install: '/dashboard/install',
  catalog: '/dashboard/catalog',
  catalogServer: '/dashboard/catalog/server',
  login: '/dashboard/login',
  authorize: '/dashboard/authorize',
  logout: '/dashboard/logout',
  events: '/dashboard/events',
  server: (name: string) => `/dashboard/servers/${encoded(name)}`,
  part: (name: string, part: 'state' | 'offers' | 'pins' | 'log' | 'run') =>
    `/dashboard/servers/${encoded(name)}/${part}-partial`,
  /** Returns the path of a tool's page. `more` has further query parameters. */
  tool: (server: string, tool: string, more: Readonly<Record<string, string>> = {}) =>
    `/dashboard/servers/${encoded(server)}/tool?name=${[encoded(tool), ...Object.entries(more).map(([name, value]) => `${name}=${encoded(value)}`)].join('&')}`,
  versions: '/dashboard/versions',
  upgrade: (name: string) => `/dashboard/servers/${encoded(name)}/upgrade`,
  remove: (name: string) => `/dashboard/servers/${encoded(name)}/remove`,
  call: (id: number) => `/dashboard/activity/${id}`,
  job: (id: string) => `/dashboard/install/${encoded(id)}`,
  agent: (id: string) => `/dashboard/agents/${encoded(id)}`,
  agentPart: (id: string, part: 'state' | 'conversation' | 'files') =>
    `/dashboard/agents/${encoded(id)}/${part}-partial`,
  /** Returns the path of an agent's file. `path` is relative to the agent's workspace. */
  agentFile: (id: string, path: string) =>
    `/dashboard/agents/${encoded(id)}/files/${path.split('/').map(encoded).join('/')}`,
  agentRemoval: (id: string) => `/dashboard/agents/${encoded(id)}/remove`,
  task: (id: string) => `/dashboard/tasks/${encoded(id)}`,
  taskPart: (id: string, part: 'state' | 'work') =>
    `/dashboard/tasks/${encoded(id)}/${part}-partial`,
  messageCancel: (id: string, message: string) =>
    `/dashboard/actions/agent-cancel/${encoded(id)}/${encoded(message)}`,
  action: (action: Action, name: string) => `/dashboard/actions/${action}/${encoded(name)}`,
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
