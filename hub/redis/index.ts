export { type RedisLinkEvents, createRedisLink } from './link.ts';
