import { test } from 'vitest';
import { fuzzOver } from './run.ts';
import { streamClient } from './stream-client.ts';
import { openOnStdio } from './wires.ts';

const timeout = 300_000;

test.for([
  ['by lines', false],
  ['by headers', true],
] as const)(
  'each request is answered once, to its sender, over stdio %s',
  { timeout },
  async ([, hasHeaders]) => {
    await fuzzOver({ open: streamClient(openOnStdio(hasHeaders)), era: 'legacy' }, 0.5);
  },
);
