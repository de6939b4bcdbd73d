export {
  type RedisNeeds,
  type RedisOptions,
  RedisRefusal,
  createDeadlines,
  createRedisLink,
  refusalText,
} from './link.ts';
