import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import type { Found } from '#cache';
import { never } from '#helpers/never';
import { createTaggedFlights } from '../../hub/cache/single-flight.ts';

const filled = (value: string): Found => ({ value, from: 'filled', ageMs: 0 });

/** Creates flights whose searches the test ends. */
function openFlights() {
  const joined: Found[] = [];
  const flights = createTaggedFlights(found => joined.push(found));
  const searches: (PromiseWithResolvers<Found> & {
    readonly signal: AbortSignal;
    readonly isForgotten: () => boolean;
  })[] = [];
  return {
    flights,
    joined,
    searches,
    join: (key: string, tag = 't', signal = never) =>
      flights.join(key, tag, signal, (ended, flight) => {
        const search = Promise.withResolvers<Found>();
        searches.push({ ...search, signal: ended, isForgotten: () => flight.isForgotten });
        return search.promise;
      }),
  };
}

describe('calls of one key', () => {
  test('get the value of one search; those that joined it are marked and counted', async () => {
    const { join, searches, joined } = openFlights();
    const calls = [join('a'), join('a'), join('b')];
    assert.equal(searches.length, 2);
    searches[0]?.resolve(filled('one'));
    searches[1]?.resolve(filled('other'));
    assert.deepEqual(
      (await Promise.all(calls)).map(({ value, from }) => [value, from]),
      [
        ['one', 'filled'],
        ['one', 'joined'],
        ['other', 'filled'],
      ],
    );
    assert.deepEqual(joined, [{ value: 'one', from: 'joined', ageMs: 0 }]);
  });

  test('that join a search which finds an entry get a hit', async () => {
    const { join, searches, joined } = openFlights();
    const calls = [join('a'), join('a')];
    const hit: Found = { value: 'one', from: 'hit', ageMs: 5 };
    searches[0]?.resolve(hit);
    assert.deepEqual(await Promise.all(calls), [hit, hit]);
    assert.deepEqual(joined, [hit]);
  });

  test('start another search once the search is over, even with an error', async () => {
    const { join, searches } = openFlights();
    const first = join('a');
    searches[0]?.reject(new Error('no model'));
    await assert.rejects(first, /no model/);
    const second = join('a');
    searches[1]?.resolve(filled('two'));
    assert.equal((await second).from, 'filled');
  });

  test('start another search at once when the last waiting call was aborted', async () => {
    const { join, searches } = openFlights();
    const leaving = new AbortController();
    const gone = [join('a', 't', leaving.signal), join('a', 't', leaving.signal)];
    leaving.abort(new Error('gone'));
    for (const call of gone) await assert.rejects(call, /gone/);
    const stays = join('a');
    const [left, anew] = searches;
    assert.equal(left?.signal.aborted, true);
    left.resolve(filled('late'));
    anew?.resolve(filled('new'));
    assert.deepEqual(await stays, filled('new'));
  });

  test('that are aborted already start no search', async () => {
    const { join, searches } = openFlights();
    await assert.rejects(join('a', 't', AbortSignal.abort(new Error('too late'))), /too late/);
    assert.deepEqual(searches, []);
  });
});

describe('a search whose tag is forgotten', () => {
  test('learns of it, returns its value to waiting calls, and is joined by no later call', async () => {
    const { join, flights, searches } = openFlights();
    const [concerned, other] = [join('a', 'one'), join('b', 'two')];
    flights.forget('one');
    const anew = join('a', 'one');
    assert.deepEqual(
      searches.map(({ isForgotten }) => isForgotten()),
      [true, false, false],
    );
    for (const [number, search] of searches.entries()) search.resolve(filled(String(number)));
    assert.equal((await concerned).value, '0');
    assert.equal((await other).value, '1');
    assert.deepEqual(await anew, filled('2'));
  });

  test('is any search if all tags are forgotten', () => {
    const { join, flights, searches } = openFlights();
    void join('a', 'one');
    void join('b', 'two');
    flights.forget();
    assert.ok(searches.every(({ isForgotten }) => isForgotten()));
  });
});

test('after a stop, waiting and later calls are rejected', async () => {
  const { join, flights, searches } = openFlights();
  const waiting = join('a');
  flights.stop();
  for (const call of [waiting, join('b')])
    await assert.rejects(
      call,
      (error: unknown) => error instanceof HubError && error.code === 'HUB_SHUTTING_DOWN',
    );
  assert.deepEqual(
    searches.map(({ signal }) => signal.aborted),
    [true],
  );
});
