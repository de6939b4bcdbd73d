import type { FastifyInstance } from 'fastify';

/** `/`: a short description with links; browsers are redirected to the dashboard. */
export function rootRoutes(app: FastifyInstance, needs: { readonly hubVersion: string }): void {
  app.get('/', async (request, reply) => {
    if (request.headers.accept?.includes('text/html') === true)
      return await reply.redirect('/dashboard');
    return about(needs.hubVersion);
  });
}

const about = (version: string) => ({
  name: 'AgentHub',
  version,
  paths: {
    '/mcp': 'all servers: the address for MCP clients, over HTTP or WebSocket',
    '/mcp/{server}': 'one server, with its own names',
    '/sse': 'the same for clients that speak HTTP with SSE (MCP 2024-11-05)',
    '/sse/{server}': 'one server, over HTTP with SSE',
    '/health': 'whether the hub and its servers are usable',
    '/servers': 'the servers and what each offers',
    '/activity': 'the newest calls',
    '/dashboard': 'all of this for people: open it in a browser',
    '/metrics': 'what is measured, for Prometheus',
  },
});
