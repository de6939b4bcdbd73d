import assert from 'node:assert/strict';
import { test } from 'vitest';
import { dropMembers, membersOf, readMessage, splice } from '#jsonrpc';
import { withTrace } from '../../hub/routing/trace.ts';
import { createTracer } from '../../hub/telemetry/trace.ts';

const tracer = createTracer(
  () => true,
  bytes => 'a'.repeat(2 * bytes),
);
const told = `00-${'a'.repeat(32)}-${'a'.repeat(16)}-01`;

/** Writes the trace into a request, and returns its params as a reader of the edited bytes parses them. */
function traced(params: string | undefined, drop: readonly string[] = []): unknown {
  const text = `{"jsonrpc":"2.0","id":1,"method":"any"${params === undefined ? '' : `,"params":${params}`}}`;
  const request = readMessage(Buffer.from(text));
  if (request.kind !== 'request') return assert.fail(text);
  const { bytes } = request;
  const members = membersOf(bytes, request.params) ?? new Map();
  const span = members.get('_meta');
  const meta = membersOf(bytes, span);
  const trace = tracer({
    traceparent: undefined,
    httpTraceparent: undefined,
    requestId: '1',
    protocolVersion: undefined,
    beganMs: 0,
  });
  const dropped = new Set(drop);
  const edits = span && meta ? dropMembers(bytes, span, meta, dropped) : [];
  const own = { request, params: members, meta, trace };
  assert.equal(withTrace({ ...own, trace: undefined }, edits), edits, 'without traces as it was');
  return JSON.parse(splice(bytes, withTrace(own, edits, dropped)).toString()).params;
}

test.for([
  [undefined, [], { _meta: { traceparent: told } }],
  ['{}', [], { _meta: { traceparent: told } }],
  ['{"name":"a"}', [], { _meta: { traceparent: told }, name: 'a' }],
  ['{"_meta":{}}', [], { _meta: { traceparent: told } }],
  ['{"_meta":{"a":1}}', [], { _meta: { traceparent: told, a: 1 } }],
  ['{"_meta":{"a":1,"traceparent":"old"}}', [], { _meta: { a: 1, traceparent: told } }],
  ['{"_meta":null}', [], { _meta: null }],
  ['{"_meta":{"a":1}}', ['a'], { _meta: { traceparent: told } }],
  ['{"_meta":{"a":1,"b":2}}', ['a'], { _meta: { traceparent: told, b: 2 } }],
  ['{"_meta":{"a":1,"b":2}}', ['b'], { _meta: { traceparent: told, a: 1 } }],
  ['{"_meta":{ "a":1 , "traceparent":"x", "b":2 }}', ['a', 'b'], { _meta: { traceparent: told } }],
] as const)(
  'a request to the server with %s, without %j, has the trace context',
  ([params, drop, read]) => {
    assert.deepEqual(traced(params, drop), read);
  },
);
