import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { findTarget, resolveInside } from '../../hub/config/paths.ts';

const roots = { folder: '/project/configs', home: '/home/user' };

describe('paths on this machine', () => {
  test.for([
    ['docs', '/project/configs/docs'],
    ['.', '/project/configs'],
    ['./a/../b', '/project/configs/b'],
    ['..hidden', '/project/configs/..hidden'],
    ['~', '/home/user'],
    ['~/notes', '/home/user/notes'],
    ['~other', '/project/configs/~other'],
    ['/srv/../data', '/data'],
    ['..', undefined],
    ['../configs-2', undefined],
    ['a/../../b', undefined],
    ['~/..', undefined],
    ['~/../other', undefined],
  ] as const)('%s is %s', async ([path, expected]) => {
    const place = await resolveInside(path, roots);
    if (expected === undefined) assert.ok('refusal' in place && /it leaves/.test(place.refusal));
    // The paths do not exist, so the hub finds no links to follow.
    else assert.deepEqual(place, { written: expected, real: expected });
  });
});

describe('targets in a container', () => {
  test.for([
    ['/data', '/data'],
    ['/data/', '/data'],
    ['//data/./x', '/data/x'],
    ['/processes', '/processes'],
    ['/', undefined],
    ['/data/..', undefined],
    ['/proc', undefined],
    ['/data/../proc/self', undefined],
    ['/sys/', undefined],
    ['/dev/shm', undefined],
    ['data', undefined],
    ['', undefined],
  ] as const)('%s is %s', ([path, expected]) => {
    assert.equal(findTarget(path), expected);
  });
});
