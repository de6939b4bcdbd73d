import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isFromHere } from '../../hub/http/dashboard/origin.ts';

const host = 'localhost:9090';
const rows: readonly (readonly [isFromHere: boolean, headers: Record<string, string>])[] = [
  [true, { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:9090' }],
  [true, { 'sec-fetch-site': 'none' }],
  [true, {}],
  [true, { origin: 'http://localhost:9090' }],
  [true, { origin: 'https://localhost:9090' }],
  [false, { 'sec-fetch-site': 'cross-site' }],
  [false, { 'sec-fetch-site': 'same-site' }],
  [false, { 'sec-fetch-site': 'same-site', origin: 'http://localhost:9090' }],
  [false, { origin: 'http://localhost:3000' }],
  [false, { origin: 'http://127.0.0.1:9090' }],
  [false, { origin: 'https://evil.example' }],
  [false, { origin: 'null' }],
  [false, { origin: '' }],
];
for (const [expected, headers] of rows)
  test(`${JSON.stringify(headers)} is ${expected ? '' : 'not '}from a page of the hub, or from none`, () => {
    assert.equal(isFromHere({ host, ...headers }), expected);
  });
