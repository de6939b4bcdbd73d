import assert from 'node:assert/strict';
import { describe, test, vi } from 'vitest';
import {
  clientIdentityOf,
  clientNameOf,
  createClientNames,
  instanceKeyOf,
  named,
} from '../../hub/routing/client-identity.ts';
import { callWith, modernMeta, sessionOf } from './steps/scripted-call.ts';

const other = { kind: 'client', name: 'other', grants: { administer: false } } as const;
const key = 'io.modelcontextprotocol/clientInfo';

const callBy = (clientInfo: unknown, principal?: typeof other) =>
  callWith('tools/call', { _meta: modernMeta({ [key]: clientInfo }) }, principal && { principal });

describe('two requests are from one client', () => {
  const ada = { name: 'ada', version: '1' };
  const identity = clientIdentityOf(callBy(ada));

  test('if they have the same name and version, whatever their other fields are', () => {
    assert.equal(clientIdentityOf(callBy({ version: '1', title: 'Ada', name: 'ada' })), identity);
  });

  test.each([
    ['their names differ', callBy({ ...ada, name: 'eve' })],
    ['their versions differ', callBy({ ...ada, version: '2' })],
    ['one gives no version', callBy({ name: 'ada' })],
    ['the text of both together is the same', callBy({ name: 'ada","1', version: '' })],
    ['their principals differ', callBy(ada, other)],
  ])('but not if %s', (_, call) => {
    assert.notEqual(clientIdentityOf(call), undefined);
    assert.notEqual(clientIdentityOf(call), identity);
  });
});

test.each([[{ name: '' }], [{ name: 7, version: '1' }], [{ version: '1' }], ['ada'], [null]])(
  'a request with the client info %j is identified by its principal alone',
  info => {
    assert.equal(clientIdentityOf(callBy(info)), undefined);
    assert.equal(instanceKeyOf(callBy(info)), 'local:test');
    assert.equal(instanceKeyOf(callBy(info, other)), 'client:other');
  },
);

test('a long name is stored as its digest, and distinguished from others', () => {
  const keys = ['a', 'b'].map(end => instanceKeyOf(callBy({ name: 'x'.repeat(10_000) + end })));
  for (const one of keys) assert.match(one, /^[0-9a-f]{64}$/);
  assert.notEqual(keys[0], keys[1]);
});

describe('the name of the client of a call', () => {
  function ofSession(clientInfo?: string) {
    const client = clientInfo === undefined ? undefined : { capabilities: '{}', clientInfo };
    const _meta = { [key]: { name: 'not its own' } };
    return clientNameOf(callWith('tools/call', { _meta }, { session: { ...sessionOf(), client } }));
  }

  test('is that of its session, if it has a session', () => {
    assert.equal(ofSession('{"name":"ada"}'), 'ada');
    assert.equal(ofSession('{"name":7}'), undefined);
    assert.equal(ofSession('[]'), undefined);
    assert.equal(ofSession(), undefined);
  });

  test('is otherwise that of its request', () => {
    assert.equal(clientNameOf(callBy({ name: 'ada' })), 'ada');
    assert.equal(clientNameOf(callWith('tools/call', { _meta: modernMeta() })), undefined);
  });
});

test.each([
  ['{"name":"ada","version":"1"}', 'ada 1'],
  ['{"name":"ada"}', 'ada'],
  ['{"version":"1"}', '1'],
  ['{"name":"","version":7}', ''],
  ['"ada"', ''],
  [String.raw`{"name":"a\nb\u0000c\u001b[1m"}`, 'a b c [1m'],
])('%s is shown as %j', (clientInfo, shown) => {
  assert.equal(named(clientInfo), shown);
});

test('a name is shown redacted and truncated', () => {
  assert.doesNotMatch(named('{"name":"ada ghp_abcdefghij0123456789"}'), /abcdefghij/);
  assert.equal(named(JSON.stringify({ name: 'x'.repeat(500) })).length, 100);
});

describe('client names', () => {
  test('are parsed once for each session', () => {
    let parsed = 0;
    const client = {
      capabilities: '{}',
      get clientInfo() {
        parsed++;
        return '{"name":"ada"}';
      },
    };
    const nameOf = createClientNames();
    const { session, request, meta } = callWith(
      'tools/call',
      {},
      { session: { ...sessionOf(), client } },
    );
    assert.equal(nameOf(session, request, meta), 'ada');
    assert.equal(nameOf(session, request, meta), 'ada');
    assert.equal(parsed, 1);
  });

  test.each([
    [1_000, 1],
    [10_000, 2],
  ])('in requests with %d characters are parsed %d times for two requests', (length, times) => {
    const nameOf = createClientNames();
    const { session, request, meta } = callBy({ name: 'ada', junk: 'x'.repeat(length) });
    const parse = vi.spyOn(JSON, 'parse');
    try {
      for (let round = 0; round < 2; round++) assert.equal(nameOf(session, request, meta), 'ada');
      assert.equal(parse.mock.calls.length, times);
    } finally {
      parse.mockRestore();
    }
  });

  test('in requests are distinguished, and absent ones are undefined', () => {
    const nameOf = createClientNames();
    const read = (info: unknown) => {
      const { session, request, meta } = callBy(info);
      return nameOf(session, request, meta);
    };
    // More names than the hub remembers.
    for (let round = 0; round < 1_001; round++)
      assert.equal(read({ name: `n${round}` }), `n${round}`);
    assert.equal(read({ name: 'n0' }), 'n0');
    assert.equal(read({}), undefined);
    const { session, request, meta } = callWith('tools/call', {});
    assert.equal(nameOf(session, request, meta), undefined);
  });
});
