import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  collectionsIn,
  countIn,
  nearIn,
  pointIdsIn,
  schemaIn,
  versionIn,
} from '../../../hub/vectors/qdrant/answers.ts';
import { isFailure } from '../contract.ts';

describe('an unexpected result is reported with what is missing', () => {
  const near = { id: 'a', score: 1, payload: {} };

  test.for([
    ['collections', () => collectionsIn({})],
    ['name', () => collectionsIn({ collections: [{ name: 1 }] })],
    ['payload_schema', () => schemaIn({ config: { params: { vectors: {} } } })],
    ['payload_schema', () => schemaIn(null)],
    ['count', () => countIn({ count: '1' })],
    ['points', () => pointIdsIn({ points: {} })],
    ['score', () => nearIn({ points: [{ ...near, score: null }] }, 0)],
    ['payload', () => nearIn({ points: [{ ...near, payload: [] }] }, 0)],
    ['payload.deep', () => nearIn({ points: [{ ...near, payload: { deep: {} } }] }, 0)],
    ['id', () => nearIn({ points: [{ ...near, id: 7 }] }, 0)],
  ] as const)('%s', ([name, read]) => {
    assert.throws(read, isFailure('malformed', new RegExp(`answers without ${name},`)));
  });
});

describe('a result is read for', () => {
  test('the points above the threshold, with a score of at most one and without the field of the hub', () => {
    const points = [
      { id: 'a', score: 1.000_000_1, payload: { put_at: 5, name: 'x', at: 3 } },
      { id: 'b', score: 0.5, payload: { name: 'y' } },
      { id: 'c', score: 0.4, payload: 'is not read' },
      { id: 'd', score: Number.NaN, payload: {} },
    ];
    assert.deepEqual(nearIn({ points }, 0.4), [
      { id: 'a', score: 1, payload: { name: 'x', at: 3 } },
      { id: 'b', score: 0.5, payload: { name: 'y' } },
    ]);
  });

  test('the ids that are strings', () => {
    assert.deepEqual(pointIdsIn({ points: [{ id: 'a' }, { id: 7 }, null] }), ['a']);
  });

  test('the schema of a collection, also of one with several vectors or without any', () => {
    const schemaOf = (vectors: unknown) =>
      schemaIn({ config: { params: { vectors } }, payload_schema: { scope: {} } });
    const indexed = ['scope'];
    const datatype = 'float32';
    assert.deepEqual(schemaOf({ size: 2, distance: 'Cosine' }), {
      dimensions: 2,
      distance: 'Cosine',
      datatype,
      indexed,
    });
    assert.equal(schemaOf({ size: 2, distance: 'Dot', datatype: 'uint8' }).datatype, 'uint8');
    const none = { dimensions: 0, distance: 'none', datatype, indexed };
    assert.deepEqual(schemaOf({ image: { size: 2, distance: 'Cosine' } }), none);
    assert.deepEqual(schemaOf(undefined), none);
  });

  test.for([
    [{ title: 'qdrant', version: '1.19.0' }, '1.19.0'],
    ['<html>', undefined],
    [{ version: 1 }, undefined],
  ] as const)('the version in %j: %s', ([data, version]) => {
    assert.equal(versionIn(data), version);
  });
});
