// Lower limit of any route on Fastify: reads a JSON body and answers with a prepared object, after one GET if a Redis
// is given.
import { readFileSync } from 'node:fs';
import { fastify } from 'fastify';

const [port, file = '', redisUrl] = process.argv.slice(2);
const answer: unknown = JSON.parse(readFileSync(file, 'utf8'));
const app = fastify();
if (redisUrl === undefined) app.post('/', async () => answer);
else {
  const { Redis } = await import('ioredis');
  const redis = new Redis(redisUrl);
  app.post('/', async () => {
    await redis.get('bench');
    return answer;
  });
}
await app.listen({ host: '127.0.0.1', port: Number(port) });
process.send?.('listening');
process.on('disconnect', () => process.exit(0));
