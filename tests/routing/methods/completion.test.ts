import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startHub } from '#helpers/hub';
import { caller } from '#helpers/principal';
import { permittedValues } from '../../../hub/routing/methods/completion.ts';
import { openAsked } from '../asking.ts';
import { at, openModern } from '../modern.ts';
import { createTestAccess } from '../test-access.ts';

const answerWith = (result: string) => Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);

describe('values of a completion for a resource template', () => {
  /** Returns the values that a client gets, and the URIs for which the policy was asked. */
  function permitted(template: string, values: readonly string[], denied: string) {
    const uris: string[] = [];
    const answer = answerWith(JSON.stringify({ completion: { values, hasMore: true } }));
    const bytes = permittedValues(answer, template, uri => {
      uris.push(uri);
      return uri !== denied;
    });
    return { values: at(JSON.parse(bytes.toString()), 'result', 'completion', 'values'), uris };
  }

  test.each([
    ['x://{a}/z', 'x://b%20c%2Fd/z'],
    ['x://{+a}', 'x://b%20c/d'],
    ['x://y{#a}', 'x://y#b%20c/d'],
    ['x://y{.a}', 'x://y.b%20c%2Fd'],
    ['x://y{/a*}', 'x://y/b%20c%2Fd'],
    ['x://y{;a}', 'x://y;a=b%20c%2Fd'],
    ['x://y{?a}', 'x://y?a=b%20c%2Fd'],
    ['x://y?z=1{&a}', 'x://y?z=1&a=b%20c%2Fd'],
    ['x://{a:3}', 'x://b%20c%2Fd'],
  ])('%s stay if the policy allows the resource that they name', (template, denied) => {
    const { values, uris } = permitted(template, ['kept', 'b c/d'], denied);
    assert.equal(uris[1], denied);
    assert.deepEqual(values, ['kept']);
  });

  test.each(['x://{a}/{b}', 'x://{a,b}', 'x://y'])('all stay for %s', template => {
    assert.deepEqual(permitted(template, ['b'], 'x://b'), { values: ['b'], uris: [] });
  });

  test('after the first 1,000 are left out', () => {
    const { values, uris } = permitted('x://{a}', Array(1_002).fill('b'), '');
    assert.deepEqual([values, uris.length], [Array(1_000).fill('b'), 1_000]);
  });

  test('may contain half of a surrogate pair', () => {
    const { values, uris } = permitted('x://{a}', ['\ud800'], '');
    assert.deepEqual([values, uris], [['\ud800'], ['x://%EF%BF%BD']]);
  });

  test('without denied ones, and errors, pass unchanged', () => {
    const answer = answerWith('{"completion":{"values":["a"],"total":5}}');
    assert.equal(
      permittedValues(answer, 'x://{a}', () => true),
      answer,
    );
    const refused = Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}');
    assert.equal(
      permittedValues(refused, 'x://{a}', () => false),
      refused,
    );
  });

  test.each([
    '{"completion":{"values":["a"],"values":["b"]}}',
    '{"completion":{"Values":["a"],"values":[]}}',
    '{"completion":{"values":[]},"Completion":{"values":["a"]}}',
    '{"completion":{}}',
    '{}',
  ])('are not passed through if clients may read others: %s', result => {
    assert.throws(() => permittedValues(answerWith(result), 'x://{a}', () => true), {
      code: 'HUB_SERVER_PROTOCOL',
    });
  });
});

test.each([
  ['all', 'legacy'],
  ['all', 'modern'],
  ['files', 'legacy'],
  ['files', 'modern'],
])('at %s, a %s client gets no value for a denied resource', async (where, era) => {
  const uri = 'file:///{name}';
  const env = { TEMPLATE: uri, COMPLETIONS: 'public secret SECRET secretary' };
  const servers = [{ name: 'files', env }];
  const { access } = createTestAccess(servers, {
    policy: [{ resources: ['file:///secret'], action: 'deny' }],
  });
  await using hub = await startHub(servers, { access });
  const endpoint = where === 'all' ? where : hub.server(where);
  const client =
    era === 'modern'
      ? openModern(hub, endpoint, {}, undefined, caller)
      : openAsked(hub, endpoint, undefined, caller);
  if ('initialize' in client && era === 'legacy') await client.initialize({});
  const ref = { type: 'ref/resource', uri };
  const answer = await client.ask('completion/complete', {
    ref,
    argument: { name: 'name', value: '' },
  });
  // The total would tell how many values are left out.
  assert.deepEqual(at(answer, 'result', 'completion'), {
    values: ['public', 'SECRET', 'secretary'],
  });
});
