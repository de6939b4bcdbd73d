import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Receiver, readMessage } from '#jsonrpc';
import { createManualClock } from '#helpers/clock';
import { createDriver } from '../../hub/repositories/driver.ts';
import { failureOf } from './harness.ts';

/** A driver that answers each request with a failure of the system. */
function failingDriver(code: string, message: string) {
  const never = Promise.withResolvers<never>().promise;
  let receiver: Receiver | undefined;
  return createDriver(
    '/notes',
    {
      about: {},
      channel: {
        listen(given) {
          receiver = given;
        },
        send() {
          const error = { code: -32000, message, data: { code } };
          const text = JSON.stringify({ jsonrpc: '2.0', id: 1, error });
          const answer = readMessage(Buffer.from(text));
          if (answer.kind === 'answer') receiver?.message(answer);
        },
        closed: never,
        close() {},
      },
      exited: never,
      stop: async () => await never,
      usage: async () => undefined,
    },
    { clock: createManualClock() },
  );
}

test.each([
  [
    'EROFS',
    "EROFS: read-only file system, mkdir '/proc/self/fd/18/app'",
    "EROFS: read-only file system, mkdir 'app'. The folder must be on a file system that can be written",
  ],
  [
    'EACCES',
    "EACCES: permission denied, open '/proc/self/fd/7/a.md'",
    "EACCES: permission denied, open 'a.md'. The folder must be writable for its owner",
  ],
  ['EIO', 'EIO: i/o error, read', 'EIO: i/o error, read'],
])('a failure with %s names the file, and what to do', async (code, message, shown) => {
  const driver = failingDriver(code, message);
  const request = { method: 'write', params: {}, timeoutMs: 1_000 };
  const failure = await failureOf(
    driver.request(request, z.object({}), new AbortController().signal),
  );
  expect(failure).toBe(`HUB_GIT_FAILED: /notes: ${shown}`);
});
