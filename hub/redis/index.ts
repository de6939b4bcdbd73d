export { type RedisNeeds, type RedisOptions, createDeadlines, createRedisLink } from './link.ts';
