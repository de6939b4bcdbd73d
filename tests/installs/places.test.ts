import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createPlaces } from '../../hub/installs/places.ts';

const busy = { code: 'HUB_SERVER_EXISTS', message: /being installed or removed by another/ };

test('a requested name is reserved, and otherwise a free one like the derived name', () => {
  const places = createPlaces(() => ['time']);
  assert.equal(places.take('mine', 'time').name, 'mine');
  assert.equal(places.take(undefined, 'time').name, 'time-2');
  assert.equal(places.take(undefined, 'time').name, 'time-3');
});

test('a name in the config is not reserved again', () => {
  const places = createPlaces(() => ['time']);
  assert.throws(() => places.take('time', 'x'), {
    code: 'HUB_SERVER_EXISTS',
    message: /a server is called "time" already.*"agenthub remove time"/,
    data: { server: 'time' },
  });
});

test('a name is reserved until its work has ended, for installs and removals', () => {
  const places = createPlaces(() => ['time']);
  {
    using _installed = places.take('mine', 'x');
    assert.throws(() => places.take('mine', 'x'), busy);
    assert.throws(() => places.takeKnown('mine'), busy);
    using _removed = places.takeKnown('time');
    assert.throws(() => places.take('time', 'x'), busy);
    assert.throws(() => places.takeKnown('time'), busy);
  }
  assert.equal(places.take('mine', 'x').name, 'mine');
  assert.equal(places.takeKnown('time').name, 'time');
});

test('at most four servers are installed at once, regardless of removals', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const places = createPlaces(() => names);
  for (const name of names) places.takeKnown(name);
  const [first] = [1, 2, 3, 4].map(number => places.take(`new-${number}`, 'x'));
  assert.throws(() => places.take('new-5', 'x'), {
    code: 'HUB_INSTALLS_FULL',
    data: { retryable: true },
  });
  first?.[Symbol.dispose]();
  assert.equal(places.take('new-5', 'x').name, 'new-5');
});

test('if no name like the derived one is free, the request must have one', () => {
  const places = createPlaces(() => [
    'time',
    ...Array.from({ length: 20_000 }, (_, index) => `time-${index + 2}`),
  ]);
  assert.throws(() => places.take(undefined, 'time'), { code: 'HUB_SERVER_EXISTS' });
});
