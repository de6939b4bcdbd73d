import assert from 'node:assert/strict';
import { test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { createTokenCounter } from '#tokens';
import { countInThread } from '../../hub/tokens/thread.ts';

test('texts are counted like o200k_base', async () => {
  const { count } = createTokenCounter({ clock: systemClock });
  // Published examples of the encoding, and a text that is so long that its tokens are only estimated.
  const texts = ['', 'hello world', 'tiktoken is great!', '<|endoftext|>', 'word '.repeat(20_000)];
  const [none, hello, great, special, long = 0] = await count(texts);
  assert.deepEqual([none, hello, great], [0, 2, 6]);
  // The text is encoded as ordinary text, not as the one special token of that name.
  assert.ok(special !== undefined && special > 1);
  assert.ok(long >= 20_000 && long < 20_100, String(long));
});

test('a thread that exceeds its time is terminated', async () => {
  const clock = createManualClock();
  const counting = countInThread(['a'], { clock });
  clock.advance(30_000);
  await assert.rejects(counting, /HUB_INTERNAL|took more than 30 seconds/);
});
