export { createDeadlines } from './deadlines.ts';
export { type RedisNeeds, createRedisLink } from './link.ts';
