import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRequestStates } from '../../../hub/routing/bridge/request-state.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { callOf, callWith, modernMeta, sessionOf } from '../steps/scripted-call.ts';

const state = { id: 'call-1', round: 2, visits: 3 };
const params = { name: 'ask', arguments: { a: 1 } };

function scene(key = 1) {
  const clock = createManualClock();
  const states = createRequestStates(Buffer.alloc(32, key), { clock });
  return { clock, states, text: states.issue(state, callOf('tools/call', params), 1_000) };
}

test('a state contains what it was issued for', () => {
  const { states, text } = scene();
  assert.equal(states.claimed(text), 'call-1');
  assert.deepEqual(states.verify(text, callOf('tools/call', params)), state);
});

test.each([
  ['its members in another order', '{"arguments":{"a":1},"name":"ask"}'],
  [
    'the answers, the state and other metadata',
    JSON.stringify({ ...params, _meta: modernMeta(), requestState: 'x', inputResponses: {} }),
  ],
])('a retry of the request may have %s', (_, retried) => {
  const { states, text } = scene();
  assert.deepEqual(states.verify(text, callWith('tools/call', retried)), state);
});

const one = createScriptedServer({ name: 'one' }).server;
const other = { kind: 'client', name: 'other', grants: { administer: false } } as const;

test.each([
  ['another method', callOf('prompts/get', params)],
  ['another argument', callOf('tools/call', { ...params, arguments: { a: 2 } })],
  ['the argument in another type', callOf('tools/call', { ...params, arguments: { a: '1' } })],
  ['a parameter more', callOf('tools/call', { ...params, more: 1 })],
  ['a parameter less', callOf('tools/call', { name: 'ask' })],
  ['another endpoint', callOf('tools/call', params, one)],
  ['another principal', callWith('tools/call', params, { principal: other })],
])('a state is refused with %s', (_, call) => {
  const { states, text } = scene();
  assert.throws(() => states.verify(text, call), {
    code: 'HUB_STATE_INVALID',
    message: /was not issued by the hub for this request\. Send the request again without it/,
  });
});

test('the grants of a principal may change between the two requests', () => {
  const { states, text } = scene();
  const principal = { kind: 'local', name: 'test', grants: { administer: true } } as const;
  const session = sessionOf();
  assert.deepEqual(
    states.verify(text, callWith('tools/call', params, { session, principal })),
    state,
  );
});

test.each([
  ['another id', /^call-1/, 'call-2'],
  ['another round', '.2.', '.1.'],
  ['fewer visits', '.3.', '.0.'],
  ['a longer life', '.1000.', '.9999.'],
  ['a signature of another length', /.$/, ''],
  ['a number in another form', '.2.', '.02.'],
] as const)('a state is refused with %s', (_, from, to) => {
  const { states, text } = scene();
  const changed = text.replace(from, to);
  assert.notEqual(changed, text);
  assert.throws(
    () => states.verify(changed, callOf('tools/call', params)),
    /not issued by the hub/,
  );
});

test('a state of another run of the hub is refused', () => {
  const { text } = scene(1);
  const { states } = scene(2);
  assert.throws(() => states.verify(text, callOf('tools/call', params)), /not issued by the hub/);
});

test('a state is valid for its time, to the millisecond', () => {
  const { states, text, clock } = scene();
  clock.advance(1_000);
  assert.deepEqual(states.verify(text, callOf('tools/call', params)), state);
  clock.advance(1);
  assert.throws(() => states.verify(text, callOf('tools/call', params)), /has expired/);
});

const mac = 'm'.repeat(43);

test.each([
  '',
  'call-1',
  `call-1.1.1.${mac}`,
  `${'c'.repeat(65)}.1.1.1.${mac}`,
  `call/1.1.1.1.${mac}`,
  `call-1.-1.1.1.${mac}`,
  `call-1.1.1234567.1.${mac}`,
  `call-1.1.1.1.${mac}m`,
  `call-1.1.1.1.${mac}\n`,
  ` call-1.1.1.1.${mac}`,
])('%j is not a valid state, and is refused', text => {
  const { states } = scene();
  assert.equal(states.claimed(text), undefined);
  assert.throws(() => states.verify(text, callOf('tools/call', params)), /not issued by the hub/);
});
