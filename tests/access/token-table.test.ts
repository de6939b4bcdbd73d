import assert from 'node:assert/strict';
import { test } from 'vitest';
import { digestOf } from '#access';
import { createTokenTable } from '../../hub/access/token-table.ts';

const hex = (token: string) => digestOf(token).toString('hex');
const owner = (name: string, token: string | undefined) => ({
  name,
  digest: token === undefined ? undefined : hex(token),
  principal: { kind: 'client', name, grants: { administer: false } } as const,
});

test('a token is found by its digest, with its owner or as revoked', () => {
  const cursor = owner('cursor', 'one');
  const table = createTokenTable([cursor], [{ name: 'old', digest: hex('two') }]);
  assert.equal(table?.find({ digest: digestOf('one') })?.principal, cursor.principal);
  assert.equal(table.find({ digest: digestOf('two') })?.principal, undefined);
  assert.equal(table.find({ digest: digestOf('two') })?.name, 'old');
  assert.equal(table.find({ digest: digestOf('three') }), undefined);
  assert.equal(table.find({ digest: Buffer.alloc(32) }), undefined);
});

test('a digest that is both revoked and valid belongs to its client', () => {
  const table = createTokenTable(
    [owner('cursor', 'one')],
    [{ name: 'cursor', digest: hex('one') }],
  );
  assert.equal(table?.find({ digest: digestOf('one') })?.principal?.name, 'cursor');
});

test('a digest is found repeatedly, but not in a new table without its token', () => {
  const presented = { digest: digestOf('one') };
  const cursor = owner('cursor', 'one');
  const table = createTokenTable([cursor], []);
  for (let time = 0; time < 2; time++)
    assert.equal(table?.find(presented)?.principal, cursor.principal);
  const next = createTokenTable([owner('zed', 'two')], [{ name: 'cursor', digest: hex('one') }]);
  assert.equal(next?.find(presented)?.principal, undefined);
});

test('there is no table without a token', () => {
  assert.equal(createTokenTable([owner('cursor', undefined)], []), undefined);
});

test('the time of a look-up does not depend on how much of a token is right', () => {
  const token = 'a-token-of-43-characters-as-the-hub-makes-it';
  const table = createTokenTable([owner('cursor', token)], []);
  const almost = `${token.slice(0, -1)}x`;
  const guesses = [almost, 'x'.repeat(token.length)].map(digestOf);
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < 400; round++)
    for (const [index, guess] of guesses.entries()) {
      const start = process.hrtime.bigint();
      for (let count = 0; count < 200; count++) table?.find({ digest: guess });
      times[index]?.push(Number(process.hrtime.bigint() - start));
    }
  const [near = 0, far = 0] = times.map(all => all.toSorted((a, b) => a - b)[all.length >> 1]);
  // Noise of the machine stays below this bound. Tokens are not compared byte by byte, so no equal prefix takes longer.
  assert.ok(Math.abs(near - far) / Math.max(near, far) < 0.5, `${near} ns and ${far} ns`);
});
