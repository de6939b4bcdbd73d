import type { FastifyInstance } from 'fastify';
import { type Clock, type JsonObject, HubError, messageOf } from '#core';
import type { Router } from '#routing';
import type { Server, Servers } from '#servers';
import type { Streamable } from '#transports';

/** Whether the engine that servers run on answers. */
export type EngineReport = {
  /** What servers are run on: containers, or processes of this machine where no engine answered. */
  readonly backend: 'docker' | 'process';
  readonly healthy: boolean;
  readonly detail: string;
};

type Needs = {
  readonly servers: Servers;
  readonly router: Pick<Router, 'sessionCount'>;
  readonly streamable: Pick<Streamable, 'sessionCount'>;
  readonly engine: () => Promise<EngineReport>;
  readonly hubVersion: string;
  readonly clock: Clock;
};

/** `/health` and `/health/{server}`: 200 where usable, 503 where not (spec 1.5). */
export function healthRoutes(app: FastifyInstance, needs: Needs): void {
  const { servers, clock } = needs;
  const startedAt = clock.monotonic();

  app.get('/health', async (_request, reply) => {
    const before = clock.monotonic();
    const engine = await needs.engine();
    const latencyMs = clock.monotonic() - before;
    const wanted = servers.all.filter(({ config }) => config.enabled && config.autoStart);
    const usable =
      (engine.healthy || engine.backend === 'process') &&
      (wanted.length === 0 || wanted.some(server => !isDown(server)));
    const well = engine.healthy && !servers.all.some(isDown);
    reply.code(usable ? 200 : 503);
    return {
      status: !usable ? 'down' : well ? 'ok' : 'degraded',
      version: needs.hubVersion,
      uptime_seconds: Math.round((clock.monotonic() - startedAt) / 1000),
      sessions: needs.streamable.sessionCount,
      parts: {
        engine: {
          state: engine.healthy ? 'up' : 'down',
          backend: engine.backend,
          latency_ms: round(latencyMs),
          detail: engine.detail,
        },
      },
      servers: Object.fromEntries(
        servers.all.map(server => [server.config.name, healthOf(server)] as const),
      ),
    };
  });

  app.get<{ Params: { name: string } }>('/health/:name', async (request, reply) => {
    const server = servers.get(request.params.name);
    const health = healthOf(server);
    const { running } = server;
    if (!running) {
      reply.code(503);
      return { name: server.config.name, ...health };
    }
    const before = clock.monotonic();
    try {
      await running.upstream.request('ping', undefined, pingTimeoutMs);
    } catch (error) {
      // A server that refuses the ping is alive.
      if (!(error instanceof HubError) || error.code !== 'HUB_SERVER_PROTOCOL') {
        reply.code(503);
        return { name: server.config.name, ...health, last_error: messageOf(error) };
      }
    }
    return {
      name: server.config.name,
      ...health,
      latency_ms: round(clock.monotonic() - before),
    };
  });
}

const pingTimeoutMs = 5_000;

/** In a state that it does not leave by itself soon. */
function isDown({ status, config }: Server): boolean {
  return config.enabled && (status.state === 'failed' || status.state === 'unreachable');
}

function healthOf(server: Server): JsonObject {
  const { status, lastError } = server;
  return {
    state: status.state,
    restart_count: server.restarts,
    last_error: lastError?.message ?? null,
  };
}

const round = (milliseconds: number) => Math.round(milliseconds * 100) / 100;
