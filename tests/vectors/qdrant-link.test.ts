import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { VectorsFailure } from '#vectors';
import {
  collectionsIn,
  countIn,
  createQdrantLink,
  nearIn,
  pointIdsIn,
  refusalOf,
  schemaIn,
} from '../../hub/vectors/qdrant-link.ts';
import { isFailure } from './contract.ts';

function openLink() {
  const clock = createManualClock();
  return { clock, link: createQdrantLink({ url: 'http://qdrant.test:6333' }, { clock }) };
}

/** The outcome of a call to which the client answers so. */
const answering = (answer: () => Promise<{ readonly data: unknown }>) =>
  openLink().link.within(1_000, undefined, ask => ask(() => answer, {}));

const failing = (error: unknown) =>
  answering(() => Promise.reject(error instanceof Error ? error : new Error('it')));
const refusing = (status: number, data?: unknown) =>
  Object.assign(new Error('refused'), { status, data });
const reasoned = (status: number, error: string) => refusing(status, { status: { error } });

describe('an answer', () => {
  test('gives its result, which may be null', async () => {
    assert.deepEqual(await answering(async () => ({ data: { result: [1], status: 'ok' } })), [1]);
    assert.equal(await answering(async () => ({ data: { result: null } })), null);
  });

  test.for([['<html>'], [null], [{}], [[]]])('of %j is not one of Qdrant', async ([data]) => {
    await assert.rejects(
      answering(async () => ({ data })),
      isFailure('malformed', /^qdrant\.test:6333 answers, but not as Qdrant does/),
    );
  });
});

describe('an error', () => {
  test.for([
    [reasoned(400, 'Wrong vector dimension: expected 2'), 'dimension', /400: Wrong vector/],
    [reasoned(400, 'no such field'), 'refused', /400: no such field$/],
    [reasoned(500, 'disk'), 'refused', /500: disk$/],
    [reasoned(429, 'slow down'), 'full', /429: slow down$/],
    [reasoned(507, 'no space'), 'full', /507: no space$/],
    [reasoned(503, 'starting'), 'unreachable', /503: starting$/],
    [refusing(502, 'Bad Gateway'), 'unreachable', /502: no reason is given$/],
    [refusing(401, 'Unauthorized'), 'refused', /401: .*Set QDRANT_API_KEY/],
    [reasoned(403, 'read only'), 'refused', /403: read only\. Set QDRANT_API_KEY/],
    [refusing(404, '<html>'), 'malformed', /not as Qdrant does/],
    [refusing(500), 'malformed', /not as Qdrant does/],
    [new TypeError('fetch failed'), 'unreachable', /: fetch failed$/],
    [new SyntaxError('Unexpected token'), 'malformed', /not as Qdrant does/],
    [
      Object.assign(new Error('x'), { name: 'QdrantClientResourceExhaustedError' }),
      'full',
      /429: too many requests$/,
    ],
  ] as const)('%o is %s', async ([error, kind, message]) => {
    await assert.rejects(failing(error), (failure: unknown) => {
      assert.ok(failure instanceof VectorsFailure);
      assert.equal(failure.cause, error);
      return isFailure(kind, message)(failure);
    });
  });

  test('is quoted up to 300 characters', async () => {
    await assert.rejects(
      failing(reasoned(400, 'x'.repeat(301))),
      isFailure('refused', /: x{300}$/),
    );
  });

  test('that is a failure already stays', async () => {
    const failure = new VectorsFailure('dimension', 'other');
    await assert.rejects(failing(failure), failure);
  });
});

test.for([
  [reasoned(404, 'no collection'), 404],
  [new VectorsFailure('refused', 'x', { cause: reasoned(409, 'exists') }), 409],
  [refusing(404, '<html>'), undefined],
  [new VectorsFailure('refused', 'x'), undefined],
  ['text', undefined],
] as const)('%o is a refusal by Qdrant: %s', ([error, expected]) =>
  assert.equal(refusalOf(error), expected),
);

describe('calls', () => {
  const hanging = () => new Promise<never>(() => {});

  test('have one limit in time together, after which there is a rest of two seconds', async () => {
    const { clock, link } = openLink();
    const { promise: second, resolve: begin } = Promise.withResolvers<AbortSignal>();
    const result = async () => ({ data: { result: 1 } });
    const work = link.within(1_000, undefined, async ask => {
      await ask(() => result, {});
      clock.advance(600);
      return await ask(
        () =>
          (_body: object, { signal }) => {
            begin(signal);
            return new Promise<never>((_resolve, reject) =>
              signal.addEventListener('abort', () => reject(new TypeError('aborted'))),
            );
          },
        {},
      );
    });
    const signal = await second;
    clock.advance(399);
    assert.equal(signal.aborted, false);
    clock.advance(1);
    await assert.rejects(work, isFailure('timeout', /did not answer within 1000 ms/));
    const refused = () => link.within(1_000, undefined, () => assert.fail('it is called'));
    await assert.rejects(refused(), isFailure('timeout', /not called for 2 s/));
    clock.advance(1_999);
    await assert.rejects(refused(), isFailure('timeout', /not called for 2 s/));
    clock.advance(1);
    assert.equal(await link.within(1_000, undefined, async () => 'called'), 'called');
    assert.equal(clock.waiting, 0);
  });

  test('that are cancelled cause no rest', async () => {
    const { link } = openLink();
    const cancelled = AbortSignal.abort();
    await assert.rejects(link.within(1_000, cancelled, hanging), isFailure('cancelled'));
    assert.equal(await link.within(1_000, undefined, async () => 'called'), 'called');
  });

  test('are refused after a stop', async () => {
    const { link } = openLink();
    link.stop();
    await assert.rejects(link.within(1_000, undefined, hanging), isFailure('stopped'));
  });
});

describe('of an unexpected result is told what is missing', () => {
  const near = { id: 'a', score: 1, payload: {} };

  test.for([
    ['collections', () => collectionsIn({})],
    ['name', () => collectionsIn({ collections: [{ name: 1 }] })],
    ['config.params.vectors.size', () => schemaIn({ config: { params: { vectors: {} } } })],
    ['config.params.vectors.size', () => schemaIn(null)],
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

describe('of a result is read', () => {
  test('the points above the bound, with a score of at most one and without the field of the hub', () => {
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

  test('the ids that are text', () => {
    assert.deepEqual(pointIdsIn({ points: [{ id: 'a' }, { id: 7 }, null] }), ['a']);
  });

  test('the schema, with or without indexes', () => {
    const config = { params: { vectors: { size: 2 } } };
    assert.deepEqual(schemaIn({ config, payload_schema: { scope: {} } }), {
      dimensions: 2,
      indexed: ['scope'],
    });
    assert.deepEqual(schemaIn({ config }), { dimensions: 2, indexed: [] });
  });
});
