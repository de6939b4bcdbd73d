import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'vitest';
import { createCallBodies } from '../../hub/audit/call-bodies.ts';
import { createCallQueue } from '../../hub/audit/call-queue.ts';
import { createTexts } from '../../hub/audit/texts.ts';

const call = {
  method: 'tools/call',
  name: 'files_read',
  server: 'files',
  client: 'Cursor 1.0',
  outcome: 'ok',
} as const;

/** Returns the expected members of a call's line. The number of the call is its session. */
const shown = (number: number, args: Buffer | undefined) => ({
  session: String(number),
  at: new Date(1_750_000_000_000 + number).toISOString(),
  arguments_sha256: args && hash('sha256', args),
  duration_ms: number / 1_000,
});

test('each call gets a line of its own, in order, whatever the size of its arguments', () => {
  const lines: object[] = [];
  const queue = createCallQueue(createCallBodies(createTexts(text => text)), (write, maxBytes) => {
    const members = Buffer.alloc(maxBytes);
    const text = members.toString('utf8', 0, write(members, 0));
    const { session, at, arguments_sha256, duration_ms } = JSON.parse(`{${text}}`);
    lines.push({ session, at, arguments_sha256, duration_ms });
  });
  const expected: object[] = [];
  const message = Buffer.alloc(8_192);
  const sizes = [undefined, 0, 40, 2_048, 2_049, 8_192, 700, 1_900];
  for (let number = 0; number < 1_000; number++) {
    const size = sizes[(number * 7) % sizes.length];
    const start = number % 5;
    const args =
      size === undefined
        ? undefined
        : { message: message.fill(number), start, end: Math.min(start + size, message.length) };
    queue.add(
      { ...call, session: String(number), at: 1_750_000_000_000 + number, tookMs: number / 1_000 },
      'cursor',
      args,
    );
    expected.push(shown(number, args && message.subarray(args.start, args.end)));
  }
  assert.ok(lines.length < expected.length);
  queue.drain();
  queue.drain();
  assert.deepEqual(lines, expected);
});

test('at most 128 calls wait', () => {
  let lines = 0;
  const queue = createCallQueue(createCallBodies(createTexts(text => text)), () => lines++);
  const one = { ...call, session: '1', at: 0, tookMs: 0 };
  for (let number = 0; number < 128; number++) queue.add(one, 'cursor', undefined);
  assert.equal(lines, 0);
  queue.add(one, 'cursor', undefined);
  assert.equal(lines, 128);
});
