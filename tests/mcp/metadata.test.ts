import assert from 'node:assert/strict';
import { test } from 'vitest';
import { membersOf } from '#jsonrpc';
import { checkMetadata } from '../../hub/mcp/metadata.ts';

const version = 'io.modelcontextprotocol/protocolVersion';
const capabilities = 'io.modelcontextprotocol/clientCapabilities';

/** Checks metadata. Returns the version in it, or the error's JSON-RPC code, message and data. */
function check(meta: unknown) {
  const bytes = Buffer.from(JSON.stringify(meta));
  const members = membersOf(bytes, { start: 0, end: bytes.length });
  const { version: found, error } = checkMetadata(bytes, members);
  return { found, code: error?.rpcCode, message: error?.message ?? '', data: error?.data };
}

test.for([
  [{ [version]: '2026-07-28', [capabilities]: {} }],
  [{ [version]: '2026-07-28', [capabilities]: { roots: {} }, other: 1 }],
] as const)('%j is complete', ([meta]) => {
  const { found, code } = check(meta);
  assert.deepEqual([found, code], ['2026-07-28', undefined]);
});

test.for([
  [[], undefined, version],
  [{}, undefined, version],
  [{ [version]: 20_260_728, [capabilities]: {} }, undefined, version],
  [{ [version]: null, [capabilities]: {} }, undefined, version],
  [{ [version]: '2026-07-28' }, '2026-07-28', capabilities],
  [{ [version]: '2026-07-28', [capabilities]: null }, '2026-07-28', capabilities],
  [{ [version]: '2026-07-28', [capabilities]: [] }, '2026-07-28', capabilities],
  [{ [version]: '2026-07-28', [capabilities]: '{}' }, '2026-07-28', capabilities],
] as const)('%j has no valid member', ([meta, expected, missing]) => {
  const { found, code, message } = check(meta);
  assert.deepEqual([found, code], [expected, -32_602]);
  assert.ok(message.startsWith(`"params._meta" must have "${missing}"`), message);
});

test.for(['2025-11-25', '2099-01-01', '', 'a"b'])(
  'the unsupported version %j is reported before missing capabilities',
  requested => {
    const { found, code, message, data } = check({ [version]: requested });
    assert.deepEqual([found, code], [requested, -32_022]);
    assert.deepEqual(data, { supported: ['2026-07-28'], requested });
    assert.ok(message.includes(JSON.stringify(requested)), message);
  },
);
