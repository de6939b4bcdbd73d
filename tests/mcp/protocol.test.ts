import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  allowsBatches,
  allowsEmptyEvents,
  isKnownVersion,
  isLogLevel,
  isStateless,
  keepsSessions,
  latestVersion,
  protocolVersions,
} from '#mcp';

test('knows the sessionful revisions and no other', () => {
  assert.deepEqual(protocolVersions, ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']);
  assert.equal(latestVersion, '2025-11-25');
  for (const version of protocolVersions) assert.ok(isKnownVersion(version));
  for (const version of ['2026-07-28', '', undefined, null, 1])
    assert.ok(!isKnownVersion(version), String(version));
});

test('allows batches in the first two revisions only', () => {
  assert.deepEqual(protocolVersions.filter(allowsBatches), ['2025-03-26', '2024-11-05']);
});

test('allows events without data in 2025-11-25 only', () => {
  assert.deepEqual(protocolVersions.filter(allowsEmptyEvents), ['2025-11-25']);
  assert.equal(allowsEmptyEvents(undefined), false);
});

test('knows the levels of RFC 5424', () => {
  assert.ok(isLogLevel('debug') && isLogLevel('emergency'));
  for (const level of ['warn', 'DEBUG', '', 3, undefined]) assert.ok(!isLogLevel(level));
});

test('an unknown side is of neither era', () => {
  assert.equal(isStateless(undefined), false);
  assert.equal(keepsSessions(undefined), false);
});
