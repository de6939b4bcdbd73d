import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'vitest';

/** The only files that may compare an era: its definition and the handshake. */
const mayCompare = [
  'hub/mcp/protocol.ts',
  'hub/servers/handshake/entry-era.ts',
  'hub/servers/handshake/eras.ts',
  'hub/servers/handshake/handshake.ts',
  'hub/servers/handshake/launch-in-era.ts',
];

test('only known files compare the era of a client or of a server', () => {
  const comparing = globSync('hub/**/*.ts')
    .map(file => file.replaceAll('\\', '/'))
    .filter(file =>
      /\bera (?:===|!==) |(?:===|!==) '(?:legacy|modern)'/.test(readFileSync(file, 'utf8')),
    );
  assert.deepEqual(
    comparing.filter(file => !mayCompare.includes(file)),
    [],
  );
});
