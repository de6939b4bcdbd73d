import type { FastifyInstance } from 'fastify';

/** `/`: what this is and where to go from here, for whoever opens the hub's address. */
export function rootRoutes(app: FastifyInstance, needs: { readonly hubVersion: string }): void {
  app.get('/', async () => ({
    name: 'AgentHub',
    version: needs.hubVersion,
    paths: {
      '/mcp': 'all servers: the address for MCP clients',
      '/mcp/{server}': 'one server, with its own names',
      '/health': 'whether the hub and its servers are usable',
      '/servers': 'the servers and what each offers',
    },
  }));
}
