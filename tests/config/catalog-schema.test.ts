import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readCatalog } from '#config';
import { catalogSchema } from '../../hub/config/catalog-schema.ts';

test('the official registry is the default, and any other address is allowed', () => {
  assert.deepEqual(readCatalog(undefined), {
    enabled: true,
    url: 'https://registry.modelcontextprotocol.io',
    maxAgeMs: 600_000,
  });
  const written = catalogSchema.parse({ url: 'http://127.0.0.1:8080/registry/', max_age: 5 });
  assert.deepEqual(readCatalog(written), {
    enabled: true,
    url: 'http://127.0.0.1:8080/registry',
    maxAgeMs: 5_000,
  });
});

test.each(['ftp://x', 'https://user:pass@x', 'https://x?key=1', 'https://x/#a', 'registry'])(
  '%s is not an address of a registry',
  url => {
    assert.ok(catalogSchema.safeParse({ url }).error);
  },
);
