import { test } from 'vitest';
import { openHttpClient, openModernClient } from './http-client.ts';
import { fuzzOver } from './run.ts';

const timeout = 300_000;

test.for([
  ['with sessions', 'legacy', openHttpClient],
  ['without sessions', 'modern', openModernClient],
] as const)(
  'each request is answered once, to its sender, over streamable HTTP %s',
  { timeout },
  async ([, era, open]) => {
    await fuzzOver({ open, era }, 0.5);
  },
);
