import { expect, test } from 'vitest';
import { isHousekeeping, openMethods } from '#policy';
import { listKinds, listMethods } from '#servers';

test('every client may use the lists, which are filtered', () => {
  expect(listKinds.map(kind => openMethods.has(listMethods[kind].method))).not.toContain(false);
});

test.each([
  ['ping', true, false],
  ['resources/unsubscribe', true, false],
  ['logging/setLevel', false, true],
  ['tasks/get', false, true],
  ['tools/call', false, false],
  ['vendor/method', false, false],
])('%s: open to all %s, matched by rules with methods only %s', (method, isOpen, isMatched) => {
  expect([openMethods.has(method), isHousekeeping(method)]).toEqual([isOpen, isMatched]);
});
