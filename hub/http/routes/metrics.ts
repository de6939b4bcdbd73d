import type { FastifyInstance } from 'fastify';
import type { FamiliesNeeds } from '../families.ts';

/** `/metrics`: all that the hub measures, for Prometheus. */
export function metricRoutes(app: FastifyInstance, needs: FamiliesNeeds): void {
  app.get('/metrics', async (_request, reply) => {
    // A hub that nobody measures need not have it.
    const { readFamilies } = await import('../families.ts');
    const { exposition, expositionType } = await import('#telemetry');
    const text = exposition(await readFamilies(needs));
    return await reply.header('content-type', expositionType).send(text);
  });
}
