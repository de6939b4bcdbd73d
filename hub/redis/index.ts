export { createDeadlines } from './deadlines.ts';
export {
  type RedisNeeds,
  type RedisOptions,
  RedisRefusal,
  createRedisLink,
  refusalText,
} from './link.ts';
