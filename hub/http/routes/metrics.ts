import type { FastifyInstance } from 'fastify';
import type { MetricFamiliesNeeds } from '../metric-families.ts';

/** `/metrics`: the metrics of the hub for Prometheus. */
export function metricRoutes(app: FastifyInstance, needs: MetricFamiliesNeeds): void {
  app.get('/metrics', async (_request, reply) => {
    // Loaded on first use, to save memory.
    const { readMetricFamilies } = await import('../metric-families.ts');
    const { exposition, expositionType } = await import('#telemetry');
    const text = exposition(await readMetricFamilies(needs));
    return await reply.header('content-type', expositionType).send(text);
  });
}
