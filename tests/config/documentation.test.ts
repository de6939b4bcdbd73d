import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readDocumentation } from '#config';
import { documentationSchema } from '../../hub/config/documentation-schema.ts';

const fingerprint = 'ab:'.repeat(31) + 'cd';
const read = (written: unknown) =>
  readDocumentation(
    documentationSchema.parse(written),
    {},
    new Map([['OBSIDIAN_API_KEY', { value: 'k' }]]),
  );

test('an absent section has the defaults', () => {
  const { documentation } = readDocumentation(undefined);
  assert.deepEqual(documentation, {
    vault: undefined,
    obsidian: undefined,
    maxFiles: 10_000,
    maxBytes: 64_000_000,
    maxMs: 24 * 3_600_000,
  });
});

test('the key of the plugin may be a secret', () => {
  const { documentation, problems } = read({
    obsidian: { key: '${secret:OBSIDIAN_API_KEY}', fingerprint },
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(
    [documentation.obsidian?.key, documentation.obsidian?.url],
    ['k', 'https://127.0.0.1:27124'],
  );
});

test('a secret that is not set is not a problem of the file', () => {
  const { documentation, problems } = read({ obsidian: { key: '${secret:OTHER}', fingerprint } });
  assert.deepEqual(problems, []);
  assert.equal(documentation.obsidian?.key, undefined);
  assert.match(documentation.obsidian?.keyFault ?? '', /OTHER/);
});

test.each([
  [{ key: 'k' }, /needs "certificate" or "fingerprint"/],
  [{ key: 'k', fingerprint, url: 'http://127.0.0.1:27123' }, /must not be used without TLS/],
  [{ key: 'k', fingerprint, url: 'https://a:b@c' }, /is not an address of the plugin/],
])('%j is refused', (obsidian, message) => {
  assert.match(
    read({ obsidian })
      .problems.map(({ text }) => text)
      .join(),
    message,
  );
});

test.each([
  { obsidian: { key: 'k', fingerprint: 'ab' } },
  { max_files: 0 },
  { max_hours: 501 },
  { other: 1 },
])('%j is refused by the schema', written => {
  assert.equal(documentationSchema.safeParse(written).success, false);
});
