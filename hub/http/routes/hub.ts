import type { FastifyInstance } from 'fastify';
import { type GuardNeeds, administered } from '../guard.ts';
import type { ConfigControl } from '../http-needs.ts';
import type { Login } from '../login.ts';
import type { MetricFamiliesNeeds } from '../metric-families.ts';
import { changing } from './audit.ts';
import { invalid, membersOf, refuseBody } from './input.ts';

type Needs = MetricFamiliesNeeds & {
  readonly hub: { readonly config: Pick<ConfigControl, 'reload' | 'secrets'> };
  readonly access?: Partial<Pick<GuardNeeds, 'callToken'>>;
  readonly login: Pick<Login, 'createLink'>;
};

/**
 * Adds the routes of the hub itself: `/`, `/config/reload` (spec 2.1), `/secrets`, `/call-token`, `/login-link` and
 * `/metrics`.
 */
export function hubRoutes(app: FastifyInstance, needs: Needs): void {
  app.get('/', async (request, reply) => {
    if (request.headers.accept?.includes('text/html') === true)
      return await reply.redirect('/dashboard');
    return { name: 'AgentHub', version: needs.hub.version, paths };
  });

  app.post(
    '/config/reload',
    changing('config_reload', ['allow', ...secretChanges]),
    async request => {
      const { allow, ...more } = membersOf(request.body);
      const others = Object.entries(more).filter(([name]) => !secretChanges.includes(name));
      refuseBody(Object.fromEntries(others), 'POST /config/reload, but for "allow",');
      return await needs.hub.config.reload(namesOf(allow));
    },
  );

  app.get('/secrets', administered, async (_request, reply) => {
    const secrets = await needs.hub.config.secrets();
    return await reply.header('cache-control', 'no-store').send({ secrets });
  });

  // For `agenthub connect`. The token is null while calls need none.
  app.get('/call-token', administered, async (_request, reply) => {
    const { token = null, why = null } = needs.access?.callToken?.() ?? {};
    return await reply.header('cache-control', 'no-store').send({ token, why });
  });

  app.post('/login-link', changing('login_link'), async (request, reply) => {
    refuseBody(request.body, 'POST /login-link');
    const { path, lastsMs } = needs.login.createLink();
    const answer = { path, expires_in_seconds: lastsMs / 1000 };
    return await reply.code(201).header('cache-control', 'no-store').send(answer);
  });

  app.get('/metrics', async (_request, reply) => {
    // Loaded on first use, to save memory.
    const { readMetricFamilies } = await import('../metric-families.ts');
    const { exposition, expositionType } = await import('#telemetry');
    const text = exposition(await readMetricFamilies(needs));
    return await reply.header('content-type', expositionType).send(text);
  });
}

/** Body members of `agenthub secret`, for the audit log: the name of the secret that it changed. */
const secretChanges: readonly string[] = ['secret_set', 'secret_removed'];

function namesOf(allow: unknown): readonly string[] {
  if (allow === undefined) return [];
  if (Array.isArray(allow) && allow.every(name => typeof name === 'string')) return allow;
  throw invalid('allow: write a list of the names of servers');
}

const paths = {
  '/mcp': 'all servers: the address for MCP clients, over HTTP or WebSocket',
  '/mcp/{server}': 'one server, with its own names',
  '/mcp/@{profile}': 'what a profile of the config shows',
  '/sse': 'the same for clients that speak HTTP with SSE (MCP 2024-11-05)',
  '/sse/{server}': 'one server, over HTTP with SSE',
  '/health': 'whether the hub and its servers are usable',
  '/servers': 'the servers and what each offers',
  '/activity': 'the newest calls',
  '/dashboard': 'all of this for people: open it in a browser',
  '/metrics': 'metrics, for Prometheus',
} as const;
