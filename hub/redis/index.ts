export { createDeadlines } from './deadlines.ts';
export { type RedisLinkEvents, createRedisLink } from './link.ts';
