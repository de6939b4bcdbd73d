// What no route on Fastify can go below: it reads a body of JSON and answers an object that it has ready.
import { readFileSync } from 'node:fs';
import { fastify } from 'fastify';

const [port, file = ''] = process.argv.slice(2);
const answer: unknown = JSON.parse(readFileSync(file, 'utf8'));
const app = fastify();
app.post('/', async () => answer);
await app.listen({ host: '127.0.0.1', port: Number(port) });
process.send?.('listening');
process.on('disconnect', () => process.exit(0));
