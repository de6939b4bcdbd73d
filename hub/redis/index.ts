export { type RedisNeeds, createDeadlines, createRedisLink } from './link.ts';
