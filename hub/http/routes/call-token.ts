import type { FastifyInstance } from 'fastify';
import type { GuardNeeds } from '../guard.ts';

type Needs = { readonly guard?: Partial<Pick<GuardNeeds, 'callToken'>> };

/** `GET /call-token`: the hub's token for calls, for `agenthub connect`; null while calls need none. */
export function callTokenRoutes(app: FastifyInstance, { guard }: Needs): void {
  app.get('/call-token', { config: { scope: 'administer' } }, async (_request, reply) => {
    const made = guard?.callToken?.();
    return await reply
      .header('cache-control', 'no-store')
      .send({ token: made?.token ?? null, why: made?.why ?? null });
  });
}
