import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createParserThread } from '../../../hub/documentation/outline/parser-thread.ts';

const file = { path: 'a.ts', text: 'export const a = 1;\n', bytes: 20, hash: 'h' };

test('a batch that exceeds its time has no names, and the next one is parsed again', async () => {
  const clock = createManualClock();
  await using parser = createParserThread({ clock });
  const late = parser.parse([file]);
  clock.advance(60_000);
  const { outlines } = await late;
  assert.deepEqual(
    outlines.map(({ isParsed, lines }) => [isParsed, lines]),
    [[false, 1]],
  );
  const again = await parser.parse([file]);
  assert.deepEqual(
    again.outlines.map(({ isParsed }) => isParsed),
    [true],
  );
});
