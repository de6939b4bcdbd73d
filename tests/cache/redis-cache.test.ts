import assert from 'node:assert/strict';
import { test } from 'vitest';
import { describeWithRedis } from '#helpers/redis';
import { parseForgotten } from '../../hub/cache/redis-cache.ts';
import { until } from '../contracts/recorder.ts';
import { cacheContract, wide } from './contract.ts';
import { becomes, newPrefix, startHub } from './redis-hub.ts';

describeWithRedis('on a real Redis', url => {
  cacheContract({
    name: 'in Redis',
    isShared: true,
    async place() {
      const prefix = newPrefix();
      const hubs = new AsyncDisposableStack();
      return {
        async cache(bounds = wide) {
          const hub = await startHub({ url: url(), prefix, ...bounds });
          hubs.use(hub);
          await becomes('up', hub);
          return hub.cache;
        },
        async outlive(ms) {
          const end = performance.now() + ms + 1;
          await until(() => performance.now() > end, 'time to go by');
        },
        [Symbol.asyncDispose]: () => hubs.disposeAsync(),
      };
    },
  });
});

test.for([
  ['{"forgot":""}', { tag: undefined }],
  ['{"forgot":"\\"a\\\\\\"\\""}', { tag: 'a"' }],
  ['{"forgot":"no JSON"}', undefined],
  ['{"forgot":"1"}', undefined],
  ['{"forgot":1}', undefined],
  ['{}', undefined],
  ['[]', undefined],
  ['null', undefined],
  ['hello', undefined],
] as const)('the message %s is parsed as the forget %o', ([message, expected]) =>
  assert.deepEqual(parseForgotten(message), expected),
);
