import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type PlainHead, bodyUnder, parsePlainHead } from '../../hub/http/plain-head.ts';
import { createDice } from '../fuzz/dice.ts';
import { replay, seed } from '../fuzz/settings.ts';

const first = 'POST /mcp/files HTTP/1.1';
const fields = ['Host: localhost', 'content-type: application/json', 'content-length: 12'];
const many = Array.from({ length: 100 }, (_, index) => `x${index}: y`);
const headOf = (...lines: readonly string[]) => [...lines, '', ''].join('\r\n');
const read = (text: string) => parsePlainHead(Buffer.from(text, 'latin1'));

describe('the head of a request', () => {
  test('is plain if it is a POST of JSON with a Content-Length', () => {
    const text = headOf(first, ...fields, 'Accept:text/event-stream', 'x: a b');
    const head = read(text);
    assert.equal(head?.url, '/mcp/files');
    const { body, missing } = bodyUnder(Buffer.from(`${text}{}`), head) ?? {};
    assert.deepEqual([body?.toString(), missing], ['{}', 10]);
    assert.deepEqual(head.headers, {
      host: 'localhost',
      'content-type': 'application/json',
      'content-length': '12',
      accept: 'text/event-stream',
      x: 'a b',
    });
  });

  for (const [what, head] of [
    ['of another method', headOf('PUT /mcp HTTP/1.1', ...fields)],
    ['of another version', headOf('POST /mcp HTTP/1.0', ...fields)],
    ['with a query', headOf('POST /mcp?a HTTP/1.1', ...fields)],
    ['without a length', headOf(first, ...fields.slice(0, 2))],
    ['with two lengths', headOf(first, ...fields, 'Content-Length: 12')],
    [
      'with a length that is not a number',
      headOf(first, ...fields.slice(0, 2), 'content-length: 0x1'),
    ],
    ['in chunks', headOf(first, ...fields, 'transfer-encoding: chunked')],
    ['that waits to be told to continue', headOf(first, ...fields, 'expect: 100-continue')],
    ['that ends its connection', headOf(first, ...fields, 'connection: close')],
    ['that wants another protocol', headOf(first, ...fields, 'upgrade: websocket')],
    [
      'that ends its connection, as to a proxy',
      headOf(first, ...fields, 'proxy-connection: close'),
    ],
    ['with many headers', headOf(first, ...fields, ...many)],
    ['of a page', headOf(first, ...fields, 'origin: http://localhost')],
    ['of a form', headOf(first, 'content-type: text/plain', 'content-length: 12')],
    ['with a name twice', headOf(first, ...fields, 'HOST: localhost')],
    ['with a space before a colon', headOf(first, ...fields, 'x : y')],
    ['with a line that goes on', headOf(first, ...fields, 'x: y', ' z')],
    ['with a bare line feed', headOf(first, ...fields, 'x: y\nz: a')],
    ['with a byte that is not ASCII', headOf(first, ...fields, 'x: \xe9')],
    ['with a header without a value', headOf(first, ...fields, 'x:')],
    ['with a space behind a value', headOf(first, ...fields, 'x: y ')],
  ] as const)
    test(`is not plain if it is one ${what}`, () => {
      assert.equal(read(head), undefined);
    });

  test(`is the same as the one before only if it differs in the length alone ${replay()}`, () => {
    const dice = createDice(seed);
    const text = headOf(first, ...fields, 'x: 12');
    const known = read(text);
    assert.ok(known);
    let same = 0;
    for (let round = 0; round < 20_000; round++) {
      const at = dice.chance(0.5) ? text.indexOf('12') + dice.under(3) : dice.under(text.length);
      const other =
        text.slice(0, at) +
        dice.pick(['', '0', '7', '12', '-', ' ', '\r\n', 'x', ', 1', '999999999']) +
        text.slice(at + dice.under(3));
      const bytes = Buffer.from(`${other}{}`);
      const under = bodyUnder(bytes, known);
      if (!under) continue;
      same++;
      const again: PlainHead | undefined = parsePlainHead(bytes);
      assert.ok(again, other);
      assert.deepEqual(bodyUnder(bytes, again), under, other);
      const headers = { ...again.headers, 'content-length': '12' };
      assert.deepEqual({ url: again.url, headers }, { url: known.url, headers: known.headers });
    }
    assert.ok(same > 1_000, `${same}`);
  });
});
