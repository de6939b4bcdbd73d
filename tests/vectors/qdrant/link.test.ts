import assert from 'node:assert/strict';
import { afterAll, describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { VectorsFailure } from '#vectors';
import { createQdrantLink } from '../../../hub/vectors/qdrant/link.ts';
import { startQdrant } from '../../doubles/qdrant.ts';
import { isFailure } from '../contract.ts';

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());
const qdrant = opened.use(await startQdrant());

function openLink(url = qdrant.url) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  return { clock, logged, link: createQdrantLink({ url }, { clock, log }) };
}

const second = { withinMs: 1_000 };

/** Returns the outcome of a call to which the client gives this answer. */
const answering = (answer: () => Promise<{ readonly data: unknown }>) =>
  openLink().link.within(second, ask => ask(() => answer, {}));

describe('a response', () => {
  test('has its result, which may be null', async () => {
    assert.deepEqual(await answering(async () => ({ data: { result: [1], status: 'ok' } })), [1]);
    assert.equal(await answering(async () => ({ data: { result: null } })), null);
  });

  test.for([['<html>'], [null], [{}], [[]]])('of %j does not come from Qdrant', async ([data]) => {
    await assert.rejects(
      answering(async () => ({ data })),
      isFailure('malformed', /^127\.0\.0\.1:\d+ answers, but not as Qdrant does/),
    );
  });
});

describe('calls', () => {
  const hanging = () => new Promise<never>(() => {});

  test('have one time limit together, after which there is a pause of two seconds', async () => {
    const { clock, link } = openLink();
    const { promise: begun, resolve: begin } = Promise.withResolvers<AbortSignal>();
    const result = async () => ({ data: { result: 1 } });
    const work = link.within(second, async ask => {
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
    const signal = await begun;
    clock.advance(399);
    assert.equal(signal.aborted, false);
    clock.advance(1);
    await assert.rejects(work, isFailure('timeout', /did not answer within 1000 ms/));
    const refused = () => link.within(second, () => assert.fail('it is called'));
    await assert.rejects(refused(), isFailure('timeout', /not called for 2 s/));
    clock.advance(1_999);
    await assert.rejects(refused(), isFailure('timeout', /not called for 2 s/));
    clock.advance(1);
    assert.equal(await link.within(second, async () => 'called'), 'called');
    assert.equal(clock.waiting, 0);
  });

  test('have their time limit from when the client is loaded', async () => {
    const { clock, link } = openLink();
    const call = link.within(second, async () => 'called');
    assert.equal(clock.waiting, 0);
    assert.equal(await call, 'called');
  });

  test('that are cancelled cause no pause', async () => {
    const { link } = openLink();
    await assert.rejects(
      link.within({ ...second, signal: AbortSignal.abort() }, hanging),
      isFailure('cancelled'),
    );
    assert.equal(await link.within(second, async () => 'called'), 'called');
  });

  test('are refused after a stop', async () => {
    const { link } = openLink();
    link.stop();
    await assert.rejects(link.within(second, hanging), isFailure('stopped'));
  });
});

describe('the version', () => {
  test('is requested once, and again after an outage', async () => {
    await using other = await startQdrant();
    const { link } = openLink(other.url);
    assert.equal(link.detail, undefined);
    for (let round = 0; round < 2; round++) await link.within(second, async () => {});
    assert.equal(link.detail, 'Qdrant 1.19.0');
    assert.deepEqual(other.calls, ['GET /']);
    await assert.rejects(
      link.within(second, () => Promise.reject(new VectorsFailure('unreachable', 'away'))),
    );
    await link.within(second, async () => {});
    assert.deepEqual(other.calls, ['GET /', 'GET /']);
  });

  test.for([
    ['1.10.1', 'Qdrant 1.10.1', 0],
    ['1.9.7', 'Qdrant 1.9.7: update it to 1.10.1 or later', 1],
    ['1.10.0', 'Qdrant 1.10.0: update it to 1.10.1 or later', 1],
  ] as const)('%s is shown as "%s", with %i warnings', async ([version, detail, warnings]) => {
    await using other = await startQdrant({ version });
    const { link, logged } = openLink(other.url);
    await link.within(second, async () => {});
    const away = () => Promise.reject(new VectorsFailure('unreachable', 'away'));
    await assert.rejects(link.within(second, away));
    await link.within(second, async () => {});
    assert.equal(link.detail, detail);
    const warning = { level: 'warn', message: 'this Qdrant is too old: update it' };
    const fields = { version, needed: '1.10.1' };
    assert.deepEqual(
      logged,
      Array.from({ length: warnings }, () => ({ ...warning, fields })),
    );
  });

  test('is unknown if a proxy refuses its path, and calls continue', async () => {
    await using other = await startQdrant();
    const { link } = openLink(`${other.url}/behind/a/proxy`);
    assert.equal(await link.within(second, async () => 'called'), 'called');
    assert.equal(link.detail, undefined);
  });
});

describe('the outcome of a call', () => {
  const lookUp = { ...second, operation: 'look-up' } as const;
  const fails = () => Promise.reject(new VectorsFailure('refused', 'it is refused'));

  test('counts for its operation', async () => {
    const { link, logged } = openLink();
    await assert.rejects(link.within(lookUp, fails));
    assert.equal(link.outcomes.failure, 'it is refused');
    await link.within(lookUp, async () => {});
    assert.equal(link.outcomes.failure, undefined);
    assert.deepEqual(
      logged.map(({ message }) => message),
      ['the semantic cache cannot use Qdrant', 'the semantic cache can use Qdrant again'],
    );
  });

  test('does not count without an operation', async () => {
    const { link } = openLink();
    await assert.rejects(link.within(second, fails));
    assert.equal(link.outcomes.failure, undefined);
  });
});
