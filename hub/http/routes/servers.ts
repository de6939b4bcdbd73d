import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '#core';
import type { Usage } from '#runtimes';
import { type Server, describeListing, describeServer, restartNow, startNow } from '#servers';
import { administered } from '../guard.ts';
import type { HttpNeeds } from '../http-needs.ts';
import { refuseBody } from './input.ts';

type Needs = Pick<HttpNeeds, 'servers' | 'router'>;

/** `/servers`: the servers with their states, and start, stop and restart. */
export function serverRoutes(app: FastifyInstance, { servers, router }: Needs): void {
  app.get('/servers', async () => ({
    servers: servers.all.map(describeServer),
    collisions: router.collisions(),
  }));

  app.get<{ Params: { name: string } }>('/servers/:name', async request => {
    const server = servers.get(request.params.name);
    const { running } = server;
    const usage = await running?.instance.usage().catch(() => undefined); // Shown without figures.
    return {
      ...describeServer(server),
      ...describeListing(server),
      // The usage of processes is unknown, and that of containers while the engine does not answer.
      ...(running && { usage: usage ? describeUsage(usage) : null }),
    };
  });

  const act = (action: string, work: (server: Server) => Promise<unknown>): void => {
    app.post<{ Params: { name: string } }>(
      `/servers/:name/${action}`,
      administered,
      async request => {
        const server = servers.get(request.params.name);
        refuseBody(request.body, `POST /servers/{name}/${action}`);
        await work(server);
        return describeServer(server);
      },
    );
  };

  act('start', startNow);
  act('stop', server => server.stop(true));
  act('restart', restartNow);
}

const describeUsage = (usage: Usage): JsonObject => ({
  memory_bytes: usage.memoryBytes,
  memory_limit_bytes: usage.memoryLimitBytes,
  pids: usage.pids,
  pids_limit: usage.pidsLimit,
  cpu_ms: usage.cpuMs,
});
