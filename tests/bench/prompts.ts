import { measureEnhance } from './enhance-speed.ts';
import { measureL1Hit } from './l1-hit.ts';
import { measureLookups } from './l2-lookup.ts';

/** Cost of the prompt caches as lines of text, each compared with a value of the same run. */
type PromptFigures = {
  readonly lines: readonly string[];
  /** Number of calls with a wrong answer. */
  readonly wrong: number;
};

/** Measures hits, lookups and misses. `withRedis` starts a Redis in a container. */
export async function measurePrompts({
  quick,
  withRedis,
}: {
  readonly quick: boolean;
  readonly withRedis: boolean;
}): Promise<PromptFigures> {
  const served = await measureEnhance({ rounds: quick ? 30 : 100, withRedis });
  const l1 = await measureL1Hit({ rounds: quick ? 3 : 7, withRedis });
  const lookups = await measureLookups({ rounds: quick ? 100 : 300 });
  const { bareMs, memoryMs, redis, miss } = served;
  const lines = [
    `POST /ollama/enhance, L1 hit in memory: p50 ${ms(memoryMs)}, x${ratio(memoryMs, bareMs)} of a bare Fastify (${ms(bareMs)}; aim x1.30)`,
    redis
      ? `POST /ollama/enhance, L1 hit in Redis: p50 ${ms(redis.hitMs)}, x${ratio(redis.hitMs, bareMs * 1.3 + redis.bareMs - bareMs)} of x1.30 of a bare Fastify and what one GET adds to it (${ms(redis.bareMs - bareMs)}; aim x1.00)`
      : 'POST /ollama/enhance, L1 hit in Redis: not measured',
    `POST /ollama/enhance, miss of both caches: p50 ${ms(miss.hubMs)}, ${ms(miss.hubMs - miss.modelMs)} more than the calls of both models alone (${ms(miss.modelMs)})`,
    `L1 in the hub: a hit ${l1.memoryUs.toFixed(1)} us in memory` +
      (l1.redis
        ? `; in Redis ${l1.redis.hitUs.toFixed(0)} us, x${ratio(l1.redis.hitUs, l1.redis.getUs)} of a bare GET`
        : ''),
    ...lookups.map(
      ({ scopes, p50Ms, p95Ms, bareMs: loopMs, putP50Ms }) =>
        `L2 look-up among 10,000 entries in ${scopes} scopes: p50 ${ms(p50Ms)}, x${ratio(p50Ms, loopMs)} of a bare loop (${ms(loopMs)}), p95 ${ms(p95Ms)}; one more entry ${ms(putP50Ms)}`,
    ),
  ];
  return { lines, wrong: served.wrong + l1.wrong };
}

const ms = (value: number) => `${value.toFixed(3)} ms`;
const ratio = (value: number, of: number) => (value / of).toFixed(2);
