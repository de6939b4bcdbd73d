import assert from 'node:assert/strict';
import { test } from 'vitest';
import { silent } from '#core';
import { createNames } from '../../../../hub/runtimes/docker/container/names.ts';

function open() {
  const done: string[] = [];
  const names = createNames({ log: silent, owe: () => void done.push('owe') });
  const remove = (what: string) => async () => void done.push(what);
  return { names, done, remove };
}

test('a name is reserved until it is disposed, which removes its objects in reverse order', async () => {
  const { names, done, remove } = open();
  {
    await using held = names.hold('a');
    held.add('the network', remove('network'));
    held.add('the container', remove('container'));
    assert.ok(names.has('a'));
    assert.ok(!names.has('b'));
  }
  assert.ok(!names.has('a'));
  assert.deepEqual(done, ['container', 'network']);
});

test('an object that cannot be removed is recorded once the name is free, and the others are removed', async () => {
  const { names, done, remove } = open();
  {
    await using held = names.hold('a');
    held.add('the network', remove('network'));
    held.add('the container', () => Promise.reject(new Error('the engine is gone')));
  }
  assert.ok(!names.has('a'));
  assert.deepEqual(done, ['network', 'owe']);
});

test('objects that were moved outlive the name that held them', async () => {
  const { names, done, remove } = open();
  let moved: AsyncDisposable;
  {
    await using held = names.hold('a');
    held.add('the container', remove('container'));
    moved = held.move();
  }
  assert.ok(names.has('a'));
  assert.deepEqual(done, []);
  await moved[Symbol.asyncDispose]();
  assert.ok(!names.has('a'));
  assert.deepEqual(done, ['container']);
});

test('a name that is released is free, and its objects stay', () => {
  const { names, done, remove } = open();
  names.hold('a').add('the container', remove('container'));
  names.leave('a');
  assert.ok(!names.has('a'));
  assert.deepEqual(done, []);
});

test('several names are reserved and released together', async () => {
  const { names } = open();
  {
    await using _held = names.hold('a', 'a-net');
    assert.ok(names.has('a') && names.has('a-net'));
  }
  assert.ok(!names.has('a') && !names.has('a-net'));
  names.hold('a', 'a-net');
  names.leave('a', 'a-net');
  assert.ok(!names.has('a') && !names.has('a-net'));
});
