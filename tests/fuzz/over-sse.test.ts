import { test } from 'vitest';
import { fuzzOver } from './run.ts';
import { streamClient } from './stream-client.ts';
import { openSse } from './wires.ts';

const timeout = 300_000;

test('each request is answered once, to its sender, over HTTP with SSE', { timeout }, async () => {
  await fuzzOver({ open: streamClient(openSse), era: 'legacy' }, 1);
});
