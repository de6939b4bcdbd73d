import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Receiver, readMessage } from '#jsonrpc';
import { createManualClock } from '#helpers/clock';
import { createDriver } from '../../hub/repositories/driver.ts';
import { failureOf } from './harness.ts';

/** Creates a driver that answers each request with an error of the system. */
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
])('a failure with %s names the file and the remedy', async (code, message, shown) => {
  const driver = failingDriver(code, message);
  const request = { method: 'write', params: {}, timeoutMs: 1_000 };
  const failure = await failureOf(
    driver.request(request, z.object({}), new AbortController().signal),
  );
  expect(failure).toBe(`HUB_GIT_FAILED: /notes: ${shown}`);
});

test('a driver counts as ended when its connection has ended, before its exit is known', async () => {
  const never = Promise.withResolvers<never>().promise;
  const closed = Promise.withResolvers<{ readonly reason: string }>();
  const channel = { listen() {}, send() {}, closed: closed.promise, close() {} };
  const instance = { about: {}, channel, exited: never, stop: async () => await never };
  const driver = createDriver(
    '/notes',
    { ...instance, usage: async () => undefined },
    { clock: createManualClock() },
  );
  const request = { method: 'place', params: {}, timeoutMs: 1_000 };
  const ask = () => driver.request(request, z.object({}), new AbortController().signal);
  const asked = failureOf(ask());
  closed.resolve({ reason: 'ended by SIGKILL' });
  const over = 'HUB_GIT_FAILED: /notes: git has ended (ended by SIGKILL). Try again';
  expect(await asked).toBe(over);
  expect(await failureOf(ask())).toBe(over);
  expect(driver.ended).toBe('ended by SIGKILL');
});
