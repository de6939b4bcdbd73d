// Fills a key for as long as it lives: node holder.ts <url> <prefix> <key> <lockMs>
import assert from 'node:assert/strict';
import { forLong, never } from './contract.ts';
import { becomes, startHub } from './redis-hub.ts';

const [url, prefix, key, lockMs] = process.argv.slice(2);
assert.ok(url && prefix && key && lockMs);
const hub = await startHub({ url, prefix, lockMs: Number(lockMs) });
await becomes('up', hub);
await hub.cache.getOrFill(
  key,
  forLong,
  async () => {
    process.stdout.write('filling\n');
    await new Promise(() => setInterval(() => {}, 1_000));
    return { value: '', isKept: false };
  },
  never,
);
