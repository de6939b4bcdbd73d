import assert from 'node:assert/strict';
import { createEmitter } from '#core';
import { test } from 'vitest';

test('an event reaches every listener until its subscription is disposed', () => {
  const { event, fire } = createEmitter<number>();
  const heard: string[] = [];
  const first = event(value => void heard.push(`first ${value}`));
  event(value => void heard.push(`second ${value}`));
  fire(1);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  fire(2);
  assert.deepEqual(heard, ['first 1', 'second 1', 'second 2']);
});

test('one listener may subscribe twice, and each subscription ends alone', () => {
  const { event, fire } = createEmitter<number>();
  let heard = 0;
  const listener = () => void heard++;
  const first = event(listener);
  event(listener);
  fire(1);
  assert.equal(heard, 2);
  first[Symbol.dispose]();
  fire(2);
  assert.equal(heard, 3);
});

test('a listener that is disposed or added while an event is fired does not receive that event', () => {
  const { event, fire } = createEmitter<number>();
  const heard: string[] = [];
  event(value => {
    second[Symbol.dispose]();
    if (value === 1) event(late => void heard.push(`late ${late}`));
  });
  const second = event(() => void heard.push('second'));
  fire(1);
  assert.deepEqual(heard, []);
  fire(2);
  assert.deepEqual(heard, ['late 2']);
});

test('a listener that throws does not keep the others from receiving the event', () => {
  const errors: unknown[] = [];
  const { event, fire } = createEmitter<number>(error => void errors.push(error));
  const bug = new Error('bug');
  let heard = 0;
  event(() => {
    throw bug;
  });
  event(value => void (heard = value));
  fire(5);
  assert.equal(heard, 5);
  assert.deepEqual(errors, [bug]);
});
