import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createRecordingLog } from '#helpers/recording-log';
import { VectorsFailure } from '#vectors';
import { createOutcomes } from '../../hub/vectors/outcomes.ts';

function open() {
  const { log, logged } = createRecordingLog();
  const outcomes = createOutcomes(log, 'Qdrant');
  return {
    logged,
    outcomes,
    lines: () => logged.map(({ level, message }) => `${level}: ${message}`),
  };
}

const failure = (kind: VectorsFailure['kind']) => new VectorsFailure(kind, `it is ${kind}`);

test('an outage is logged once for all operations, and so is its end', () => {
  const { outcomes, logged, lines } = open();
  for (const operation of ['look-up', 'write', 'look-up'] as const)
    outcomes.failed(operation, failure('unreachable'));
  assert.deepEqual(lines(), ['warn: the semantic cache cannot use Qdrant']);
  assert.deepEqual(logged[0]?.fields, { error: 'it is unreachable' });
  for (const operation of ['look-up', 'write'] as const) outcomes.succeeded(operation);
  assert.deepEqual(lines().slice(1), ['info: the semantic cache can use Qdrant again']);
});

test('an outage of writes lasts until a write succeeds, whatever look-ups do', () => {
  const { outcomes, logged } = open();
  outcomes.failed('write', failure('full'));
  outcomes.succeeded('look-up');
  assert.equal(outcomes.failure, 'it is full');
  outcomes.failed('look-up', failure('refused'));
  outcomes.succeeded('write');
  assert.equal(outcomes.failure, 'it is refused');
  outcomes.succeeded('look-up');
  assert.equal(outcomes.failure, undefined);
  assert.equal(logged.length, 3);
});

test.for(['unreachable', 'timeout'] as const)(
  'an index that was %s for writes is used again once a look-up succeeds',
  kind => {
    const { outcomes } = open();
    outcomes.failed('write', failure(kind));
    outcomes.succeeded('look-up');
    assert.equal(outcomes.failure, undefined);
  },
);

test('look-ups that time out are an outage, whatever the counts are', () => {
  const { outcomes } = open();
  outcomes.failed('look-up', failure('timeout'));
  outcomes.succeeded('count');
  assert.equal(outcomes.failure, 'it is timeout');
  outcomes.succeeded('look-up');
  assert.equal(outcomes.failure, undefined);
});

test('an index in which everything timed out is used again once a count succeeds', () => {
  const { outcomes } = open();
  for (const operation of ['look-up', 'count'] as const)
    outcomes.failed(operation, failure('timeout'));
  outcomes.succeeded('count');
  assert.equal(outcomes.failure, undefined);
});

test.for(['cancelled', 'stopped'] as const)('a call that was %s is not an outage', kind => {
  const { outcomes, logged } = open();
  outcomes.failed('write', failure(kind));
  assert.equal(outcomes.failure, undefined);
  assert.deepEqual(logged, []);
});
