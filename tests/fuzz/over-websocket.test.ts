import { test } from 'vitest';
import { fuzzOver } from './run.ts';
import { streamClient } from './stream-client.ts';
import { openWebSocket } from './wires.ts';

const timeout = 300_000;

test('each request is answered once, to its sender, over a WebSocket', { timeout }, async () => {
  await fuzzOver({ open: streamClient(openWebSocket), era: 'legacy' }, 1);
});
