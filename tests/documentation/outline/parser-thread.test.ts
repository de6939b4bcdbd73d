import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { createParserThread } from '../../../hub/documentation/outline/parser-thread.ts';

const file = { path: 'a.ts', text: 'export const a = 1;\n', bytes: 20, hash: 'h' };
const { signal } = new AbortController();

test('a batch that takes too long is listed without its names, and the next one is parsed again', async () => {
  const clock = createManualClock();
  await using parser = createParserThread({ clock });
  const late = parser.parse([file], signal);
  clock.advance(60_000);
  const { outlines } = await late;
  assert.deepEqual(
    outlines.map(({ isParsed, lines }) => [isParsed, lines]),
    [[false, 1]],
  );
  const again = await parser.parse([file], signal);
  assert.deepEqual(
    again.outlines.map(({ isParsed }) => isParsed),
    [true],
  );
});

test('a cancelled batch rejects with the reason', async () => {
  const cancelling = new AbortController();
  await using parser = createParserThread({ clock: createManualClock() });
  const batch = parser.parse([file], cancelling.signal);
  cancelling.abort(new HubError('HUB_CALL_CANCELLED', 'it was cancelled'));
  await assert.rejects(batch, { code: 'HUB_CALL_CANCELLED' });
});
