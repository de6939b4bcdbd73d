export { type Deadlines, type Waiting, createDeadlines } from './deadlines.ts';
export { type RedisLinkEvents, type RedisValue, createRedisLink } from './link.ts';
