import { expect, test } from 'vitest';
import { createLedger, createRegister } from '#core';

test('numbers what is entered from 1 on', () => {
  const ledger = createLedger<string>();
  expect([ledger.add('a'), ledger.add('b'), ledger.add('c')]).toEqual([1, 2, 3]);
  expect(ledger.find(2)).toBe('b');
  expect(ledger.size).toBe(3);
});

test('gives a value back once', () => {
  const ledger = createLedger<string>();
  const number = ledger.add('a');
  expect(ledger.take(number)).toBe('a');
  expect(ledger.take(number)).toBeUndefined();
  expect(ledger.find(number)).toBeUndefined();
  expect(ledger.size).toBe(0);
});

test('knows nothing under numbers that it never gave', () => {
  const ledger = createLedger<string>();
  ledger.add('a');
  for (const number of [0, -1, 1.5, 17, NaN, Infinity]) {
    expect(ledger.find(number)).toBeUndefined();
    expect(ledger.take(number)).toBeUndefined();
  }
  expect(ledger.size).toBe(1);
});

test('holds what a Map holds, whatever comes and goes in whatever order', () => {
  const ledger = createLedger<string>();
  const map = new Map<number, string>();
  let random = 7;
  const next = (below: number) => (random = (random * 48_271) % 2_147_483_647) % below;
  let last = 0;
  for (let step = 0; step < 50_000; step++) {
    // It fills up to some hundreds, empties again, and a few stay for many rounds.
    const filling = step % 2_000 < 1_000;
    if (next(10) < (filling ? 7 : 3)) {
      const number = ledger.add(`value ${step}`);
      expect(number).toBeGreaterThan(last);
      last = number;
      map.set(number, `value ${step}`);
    } else {
      const number = [...map.keys()][next(map.size + 1)] ?? 0;
      expect(ledger.take(number)).toBe(map.get(number));
      map.delete(number);
    }
    if (step % 500 === 0) expect(ledger.entries()).toEqual([...map]);
  }
  for (const [number, value] of map) expect(ledger.find(number)).toBe(value);
  expect(ledger.size).toBe(map.size);
});

test('does not reuse the number of a value that is still there after a round', () => {
  const ledger = createLedger<string>();
  const kept = ledger.add('kept');
  for (let round = 0; round < 100; round++) expect(ledger.take(ledger.add('brief'))).toBe('brief');
  expect(ledger.entries()).toEqual([[kept, 'kept']]);
});

test('keeps the latest value under a text, in the order of entry', () => {
  const register = createRegister<number>();
  register.set('a', 1);
  register.set('b', 2);
  register.set('a', 3);
  expect([register.get('a'), register.has('b'), register.size]).toEqual([3, true, 2]);
  expect(register.values()).toEqual([2, 3]);
});

test('tells whether there was anything under a text to delete', () => {
  const register = createRegister<number>();
  register.set('a', 1);
  expect([register.delete('a'), register.delete('a'), register.has('a')]).toEqual([
    true,
    false,
    false,
  ]);
  expect(register.get('a')).toBeUndefined();
  expect(register.values()).toEqual([]);
});
