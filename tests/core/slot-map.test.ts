import { expect, test } from 'vitest';
import { createSlotMap, createKeyedSlotMap } from '#core';

test('assigns numbers from 1 on', () => {
  const slots = createSlotMap<string>();
  expect([slots.add('a'), slots.add('b'), slots.add('c')]).toEqual([1, 2, 3]);
  expect(slots.find(2)).toBe('b');
  expect(slots.size).toBe(3);
});

test('returns a value only once', () => {
  const slots = createSlotMap<string>();
  const number = slots.add('a');
  expect(slots.take(number)).toBe('a');
  expect(slots.take(number)).toBeUndefined();
  expect(slots.find(number)).toBeUndefined();
  expect(slots.size).toBe(0);
});

test('returns nothing for numbers that it never assigned', () => {
  const slots = createSlotMap<string>();
  slots.add('a');
  for (const number of [0, -1, 1.5, 17, NaN, Infinity]) {
    expect(slots.find(number)).toBeUndefined();
    expect(slots.take(number)).toBeUndefined();
  }
  expect(slots.size).toBe(1);
});

test('holds the same entries as a Map after random additions and removals', () => {
  const slots = createSlotMap<string>();
  const map = new Map<number, string>();
  let random = 7;
  const next = (below: number) => (random = (random * 48_271) % 2_147_483_647) % below;
  let last = 0;
  for (let step = 0; step < 50_000; step++) {
    // The map fills up to a few hundred entries and empties again; some entries stay for many rounds.
    const filling = step % 2_000 < 1_000;
    if (next(10) < (filling ? 7 : 3)) {
      const number = slots.add(`value ${step}`);
      expect(number).toBeGreaterThan(last);
      last = number;
      map.set(number, `value ${step}`);
    } else {
      const number = [...map.keys()][next(map.size + 1)] ?? 0;
      expect(slots.take(number)).toBe(map.get(number));
      map.delete(number);
    }
    if (step % 500 === 0) expect(slots.entries()).toEqual([...map]);
  }
  for (const [number, value] of map) expect(slots.find(number)).toBe(value);
  expect(slots.size).toBe(map.size);
});

test('does not reuse the number of a present value after many additions', () => {
  const slots = createSlotMap<string>();
  const kept = slots.add('kept');
  for (let round = 0; round < 100; round++) expect(slots.take(slots.add('brief'))).toBe('brief');
  expect(slots.entries()).toEqual([[kept, 'kept']]);
});

test('keeps the latest value of a key, in insertion order', () => {
  const map = createKeyedSlotMap<number>();
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  expect([map.get('a'), map.has('b'), map.size]).toEqual([3, true, 2]);
  expect(map.values()).toEqual([2, 3]);
});

test('returns whether there was a value to delete', () => {
  const map = createKeyedSlotMap<number>();
  map.set('a', 1);
  expect([map.delete('a'), map.delete('a'), map.has('a')]).toEqual([true, false, false]);
  expect(map.get('a')).toBeUndefined();
  expect(map.values()).toEqual([]);
});
