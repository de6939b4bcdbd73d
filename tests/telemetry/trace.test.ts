import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createHex, createTracer } from '../../hub/telemetry/trace.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const valid = `00-${traceId}-${spanId}-01`;
const request = { requestId: '1', protocolVersion: undefined, beganMs: 5 };

/** Returns a trace with ids that count up. It is sampled if its parent is. */
function trace(traceparent?: string, httpTraceparent?: string) {
  let count = 0;
  const hex = (bytes: number) => String(++count).padStart(2 * bytes, '0');
  const tracer = createTracer((_traceId, parent) => parent?.isSampled ?? false, hex);
  return tracer({ ...request, traceparent, httpTraceparent });
}

describe('a traceparent', () => {
  test.for([
    [valid, true],
    [`00-${traceId}-${spanId}-03`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-02`, false],
    [`01-${traceId}-${spanId}-01`, true],
    [`01-${traceId}-${spanId}-01-more`, true],
  ] as const)('%s is the parent, sampled: %s', ([text, isSampled]) => {
    const { traceId: id, parentId, isSampled: given, traceparent } = trace(text);
    assert.deepEqual([id, parentId, given], [traceId, spanId, isSampled]);
    assert.match(traceparent, new RegExp(`^00-${traceId}-0+1-0${isSampled ? 1 : 0}$`));
  });

  test.for([
    '',
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-01 `,
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}0-${spanId}-01`,
    `0-${traceId}-${spanId}-01`,
  ])('%j is invalid, and a new trace begins', text => {
    const { traceId: id, parentId, isSampled } = trace(text);
    assert.deepEqual(
      [id.length, id === traceId, parentId, isSampled],
      [32, false, undefined, false],
    );
  });
});

describe('the traces of a message and its HTTP request:', () => {
  const other = `00-${traceId}-b7ad6b7169203331-00`;

  test('the traceparent of the message is the parent, and the other one is linked', () => {
    const { parentId, linked, isSampled } = trace(valid, other);
    assert.deepEqual([parentId, isSampled], [spanId, true]);
    assert.deepEqual(linked, { traceId, spanId: 'b7ad6b7169203331', isSampled: false });
  });

  test.for([
    ['are the same', valid, valid],
    ['has none in the message', undefined, valid],
    ['has an invalid one in the message', 'x', valid],
    ['has an invalid one in the headers', valid, 'x'],
  ] as const)('(%s) one is the parent, and none is linked', ([, message, header]) => {
    const { parentId, linked } = trace(message, header);
    assert.deepEqual([parentId, linked], [spanId, undefined]);
  });
});

test('random ids are taken from blocks of random bytes, and no byte is used twice', () => {
  let fills = 0;
  const hex = createHex(pool => {
    fills++;
    for (let at = 0; at < pool.length; at += 2) pool.writeUInt16BE(at / 2, at);
  });
  assert.deepEqual([hex(2), hex(4)], ['0000', '00010002']);
  assert.equal(hex(4_088).length, 2 * 4_088);
  assert.deepEqual([hex(2), fills], ['07ff', 1]);
  assert.deepEqual([hex(2), fills], ['0000', 2]);
});
