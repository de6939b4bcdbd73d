export { type Deadlines, type Waiting, createDeadlines } from './deadlines.ts';
export { type RedisLinkEvents, createRedisLink } from './link.ts';
