import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { fieldsOf, statsOf, unitOf } from '../../hub/vectors/vectors.ts';
import { isFailure, pointOf } from './contract.ts';

describe('the fields of a point', () => {
  const point = pointOf(Float32Array.of(1), { expires_at: 5 });

  test('are its scope, its tag and its expiry', () => {
    assert.deepEqual(fieldsOf(point, 'one'), { scope: 'one', tag: 'client', expiresAt: 5 });
  });

  test.for([
    [{ scope: 'two' }, /scope: two in the payload, not one/],
    [{ tag: 1 }, /tag: 1 in the payload is not text/],
    [{ expires_at: 1.5 }, /expires_at: 1\.5/],
    [{ expires_at: '5' }, /expires_at: 5/],
    [{ expires_at: Infinity }, /expires_at: Infinity/],
  ] as const)('are refused with %o', ([changes, why]) => {
    assert.throws(
      () => fieldsOf({ ...point, payload: { ...point.payload, ...changes } }, 'one'),
      isFailure('malformed', why),
    );
  });

  test.each(['scope', 'tag', 'expires_at'])('are refused without %s', name => {
    const fields = Object.entries(point.payload).filter(([field]) => field !== name);
    const payload = Object.fromEntries(fields);
    assert.throws(
      () => fieldsOf({ ...point, payload }, 'one'),
      isFailure('malformed', /undefined/),
    );
  });
});

describe('a vector', () => {
  test('is normalized to length one, in a new vector', () => {
    const vector = Float32Array.of(3, 4);
    assert.deepEqual([...unitOf(vector)], [...Float32Array.of(0.6, 0.8)]);
    assert.deepEqual([...vector], [3, 4]);
  });

  test.for([[[]], [[0, 0]], [[NaN, 1]], [[Infinity, 1]]] as const)(
    'of %j is refused',
    ([numbers]) => {
      assert.throws(
        () => unitOf(Float32Array.from(numbers)),
        isFailure('malformed', new RegExp(`a vector of ${numbers.length} numbers`)),
      );
    },
  );
});

test('statistics say why points cannot be counted, looked up or written', async () => {
  const well = { failure: undefined };
  const up = { backend: 'embedded', status: 'up', entries: 3, error: undefined };
  assert.deepEqual(await statsOf('embedded', () => 3, well), up);
  const failed = await statsOf('qdrant', () => Promise.reject(new Error('gone')), well);
  const down = { backend: 'qdrant', status: 'down' };
  assert.deepEqual(failed, { ...down, entries: undefined, error: 'gone' });
  const full = await statsOf('qdrant', async () => 3, { failure: 'it is full' });
  assert.deepEqual(full, { ...down, entries: 3, error: 'it is full' });
});
