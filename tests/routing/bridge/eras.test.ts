import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  isStateless,
  keepsSessions,
  maySpeakBoth,
  revisionOf,
} from '../../../hub/routing/bridge/eras.ts';
import { createScriptedServer } from '../scripted-server.ts';

test('a side that is not known yet is of neither era', () => {
  assert.equal(isStateless(undefined), false);
  assert.equal(keepsSessions(undefined), false);
});

test.each([
  ['modern', '2024-11-05', '2026-07-28'],
  ['legacy', '2024-11-05', '2024-11-05'],
  ['legacy', undefined, '2025-11-25'],
] as const)('the lists of a %s client of %s are those of %s', (era, protocolVersion, revision) => {
  assert.equal(revisionOf({ era, session: { protocolVersion } }), revision);
});

describe('a server may speak both eras', () => {
  const url = 'http://127.0.0.1:9/mcp';
  const answered = { era: 'modern' } as const;

  test('if it is remote, has answered in the newer one, and its entry names none', () => {
    assert.equal(maySpeakBoth(createScriptedServer({ name: 'own', url }, answered).server), true);
  });

  test.each([
    ['its entry names the era', { url, era: 'modern' }, answered],
    ['it answered in the older one', { url }, { era: 'legacy' }],
    ['it does not run', { url }, { ...answered, isRunning: false }],
    ['it is a process of the hub', {}, answered],
  ] as const)('but not if %s', (_, entry, script) => {
    assert.equal(
      maySpeakBoth(createScriptedServer({ name: 'own', ...entry }, script).server),
      false,
    );
  });

  test('but not over the transport of 2024, which has no newer era', () => {
    const { server } = createScriptedServer({ name: 'own', url }, answered);
    const launch = { kind: 'remote', transport: 'sse', url, headers: {} } as const;
    assert.equal(maySpeakBoth({ ...server, config: { ...server.config, launch } }), false);
  });
});
