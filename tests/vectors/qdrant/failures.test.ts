import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { messageOf } from '#core';
import { VectorsFailure } from '#vectors';
import { failureOf, unless } from '../../../hub/vectors/qdrant/failures.ts';
import { isFailure } from '../contract.ts';

const told = (error: unknown, port = '6333') =>
  failureOf(error, new URL(`http://qdrant.test:${port}`));
const refusing = (status: number, data?: unknown) =>
  Object.assign(new Error('refused'), { status, data });
const reasoned = (status: number, error: string) => refusing(status, { status: { error } });
const failedFetch = (cause: string, name = 'Error') =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(cause), { name }) });

describe('an error', () => {
  test.for([
    [reasoned(400, 'Wrong input: Vector dimension error'), 'dimension', /400: Wrong input: Vector/],
    [reasoned(400, 'no such field'), 'refused', /400: no such field$/],
    [reasoned(500, 'panic'), 'refused', /500: panic$/],
    [reasoned(500, 'Service internal error: No space left on device: WAL'), 'full', /500: .*WAL$/],
    [reasoned(429, 'slow down'), 'full', /429: slow down$/],
    [reasoned(507, 'quota'), 'full', /507: quota$/],
    [reasoned(503, 'starting'), 'unreachable', /503: starting$/],
    [refusing(502, 'Bad Gateway'), 'unreachable', /502: no reason is given$/],
    [refusing(401, 'Unauthorized'), 'refused', /401: .*Set QDRANT_API_KEY/],
    [reasoned(403, 'read only'), 'refused', /403: read only\. Set QDRANT_API_KEY/],
    [refusing(404, '<html>'), 'malformed', /not as Qdrant does\. Set QDRANT_URL .*6333/],
    [refusing(500), 'malformed', /not as Qdrant does/],
    [failedFetch('ECONNREFUSED'), 'unreachable', /6333: fetch failed: ECONNREFUSED$/],
    [failedFetch('Expected HTTP/', 'HTTPParserError'), 'malformed', /not as Qdrant does/],
    [new SyntaxError('Unexpected token'), 'malformed', /not as Qdrant does/],
    [
      Object.assign(new Error('x'), { name: 'QdrantClientResourceExhaustedError' }),
      'full',
      /429: too many requests$/,
    ],
  ] as const)('%o is %s', ([error, kind, message]) => {
    const failure = told(error);
    assert.match(failure.message, /^qdrant\.test:6333/);
    assert.ok(isFailure(kind, message)(failure), failure.message);
    assert.equal(messageOf(failure), failure.message);
  });

  test('is quoted up to 300 characters', () => {
    assert.match(told(reasoned(400, 'x'.repeat(301))).message, /: x{300}$/);
  });

  test('that is already a failure is unchanged', () => {
    const failure = new VectorsFailure('dimension', 'other');
    assert.equal(told(failure), failure);
  });

  test('of a connection to the gRPC port is reported with the port to set', () => {
    const error = failedFetch('other side closed');
    assert.match(told(error, '6334').message, /closed\. Set QDRANT_URL .*6333/);
    assert.doesNotMatch(told(error).message, /QDRANT_URL/);
  });
});

test.for([
  ['Bad request: Exact search disabled!. Help: Set exact=false.', 'refused', 'search_allow_exact'],
  ['Bad request: Max points count limit of 5 reached!', 'full', 'max_points_count'],
  [
    'Bad request: Max vector storage size limit of 1MB reached!',
    'full',
    'max_collection_vector_size_bytes',
  ],
  [
    'Bad request: Max payload storage size limit of 1MB reached!',
    'full',
    'max_collection_payload_size_bytes',
  ],
  [
    'Bad request: Limit exceeded 256 > 100 for "limit". Help: Reduce it.',
    'refused',
    'max_query_limit',
  ],
  [
    'Bad request: Filter condition limit reached (2 > 1). Help: Reduce.',
    'refused',
    'filter_max_conditions',
  ],
  [
    'Rate limiting exceeded: Write rate limit exceeded: Operation requires 1 tokens',
    'full',
    'write_rate_limit',
  ],
  ['Rate limiting exceeded: Read rate limit exceeded', 'full', 'read_rate_limit'],
  [
    'Bad request: Collection already has the maximum number of payload indices (4)',
    'refused',
    'max_payload_index_count',
  ],
] as const)('"%s" is %s, with the setting to change', ([reason, kind, setting]) => {
  const words = new RegExp(`\\. Change ${setting} in the strict_mode_config of the collection$`);
  assert.ok(isFailure(kind, words)(told(reasoned(/Rate/.test(reason) ? 429 : 400, reason))));
});

describe('a refusal', () => {
  const refused = (error: unknown) => Promise.reject(told(error));

  test('with the expected status is undefined', async () => {
    assert.equal(await unless(404, refused(reasoned(404, 'no collection'))), undefined);
    assert.equal(await unless(404, Promise.resolve(1)), 1);
  });

  test.for([[reasoned(409, 'exists')], [refusing(404, '<html>')]])(
    'is thrown otherwise: %o',
    async ([error]) => {
      await assert.rejects(unless(404, refused(error)), VectorsFailure);
    },
  );
});
