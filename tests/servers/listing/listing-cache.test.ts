import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { Item, ListKind } from '#servers';
import {
  type Misfit,
  createListingCache,
  describeMisfit,
  leftOutOf,
} from '../../../hub/servers/listing/listing-cache.ts';
import { type Reading, emptyListing, emptyReading } from '../../../hub/servers/listing/listing.ts';

const all = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
const item = (key: string, text = `{"name":"${key}"}`): Item => ({ key, bytes: Buffer.from(text) });
const reading = (items: readonly Item[], more: Partial<Reading> = {}): Reading => ({
  ...emptyReading,
  items,
  ...more,
});
const fault = { text: 'title is null', since: '2024-11-05', until: '2026-07-28' };
const faulty = (key: string): Item => ({ ...item(key), faults: [fault] });

/** Creates a cache, and records its reports. */
function open(first = emptyListing) {
  const changed: ListKind[] = [];
  const leftOut: (readonly (string | undefined)[])[] = [];
  const cache = createListingCache(first, {
    changed: kind => void changed.push(kind),
    leftOut: misfits => void leftOut.push(misfits.map(({ name }) => name)),
  });
  return { cache, changed, leftOut };
}

test('an item is found by its name in the latest list', () => {
  const { cache } = open();
  cache.replace('tool', reading([item('a'), item('b')]));
  assert.deepEqual(cache.find('tool', 'b'), item('b'));
  assert.equal(cache.find('prompt', 'b'), undefined);
  cache.replace('tool', reading([item('a')]));
  assert.equal(cache.find('tool', 'b'), undefined);
});

describe('a list that is read again', () => {
  test('has changed if its bytes or its order differ', () => {
    const { cache, changed } = open();
    const readings = [
      [item('a'), item('b')],
      [item('a'), item('b')],
      [item('b'), item('a')],
      [item('b')],
      [item('b', '{"name": "b"}')],
    ];
    const counts = readings.map(items => {
      cache.replace('tool', reading(items));
      return changed.length;
    });
    assert.deepEqual(counts, [1, 1, 2, 3, 4]);
    assert.equal(cache.listing.tool[0]?.bytes.toString(), '{"name": "b"}');
  });

  test('is reported if the server announced it, even if it is the same', () => {
    const { cache, changed } = open();
    cache.replace('prompt', reading([]));
    assert.deepEqual(changed, []);
    cache.replace('prompt', reading([]), true);
    assert.deepEqual(changed, ['prompt']);
    assert.equal(cache.listing, emptyListing, 'the listing stays the same object');
  });

  test('sets its TTL and cache scope; one that was not read is private and expired', () => {
    const { cache } = open();
    assert.deepEqual([cache.freshUntil('tool'), cache.scope('tool')], [0, 'private']);
    cache.replace('tool', reading([], { freshUntil: 7, scope: 'public' }));
    assert.deepEqual([cache.freshUntil('tool'), cache.scope('tool')], [7, 'public']);
    assert.deepEqual([cache.freshUntil('prompt'), cache.scope('prompt')], [0, 'private']);
  });
});

describe('items that are left out for some clients', () => {
  test('are reported when they differ from before, and not when they disappear', () => {
    const { cache, leftOut } = open();
    for (const items of [
      [faulty('a')],
      [faulty('a'), item('fine')],
      [faulty('a'), faulty('b')],
      [item('a')],
      [faulty('a')],
    ])
      cache.replace('tool', reading(items));
    assert.deepEqual(leftOut, [['a'], ['a', 'b'], ['a']]);
  });

  test('are listed by list, name and faults, with the revisions that refuse them', () => {
    const { cache } = open();
    const late = { text: 'icons is a string', since: '2025-11-25', until: '2026-07-28' };
    cache.replace('template', reading([{ ...item('x:{y}'), faults: [late] }]));
    cache.replace('resource', reading([], { nameless: 1 }));
    cache.replace('prompt', reading([], { nameless: 2 }));
    assert.deepEqual(cache.misfits(), [
      {
        list: 'resourceTemplates',
        name: 'x:{y}',
        why: ['icons is a string'],
        revisions: ['2025-11-25', '2026-07-28'],
      },
      { list: 'resources', name: undefined, why: ['1 has no uri'], revisions: all },
      { list: 'prompts', name: undefined, why: ['2 have no name'], revisions: all },
    ]);
    assert.deepEqual(cache.misfits().map(describeMisfit), [
      'resourceTemplates "x:{y}": icons is a string',
      'resources: 1 has no uri',
      'prompts: 2 have no name',
    ]);
  });

  test('are named up to a hundred, and counted above that', () => {
    const misfits = Array.from({ length: 102 }, (_, at): Misfit => ({
      list: 'tools',
      name: at === 0 ? undefined : `t${at}`,
      why: ['w'],
      revisions: [],
    }));
    const { left_out: named, left_out_besides: besides } = leftOutOf(misfits);
    assert.equal(named.length, 100);
    assert.equal(besides, 2);
    assert.deepEqual(named[0], { list: 'tools', why: ['w'], revisions: [] });
    assert.equal(named[1]?.name, 't1');
    assert.ok(!('left_out_besides' in leftOutOf(misfits.slice(0, 100))));
  });
});

describe('a stored listing that is shown', () => {
  test('is checked like one that was read; an item that is not JSON is forwarded unchecked', () => {
    const { cache, changed, leftOut } = open();
    const wrong = item(
      'wrong',
      '{"name":"wrong","description":null,"inputSchema":{"type":"object"}}',
    );
    const broken = item('broken', '{');
    cache.show({ ...emptyListing, tool: [wrong, broken] });
    assert.deepEqual(changed, ['tool']);
    assert.deepEqual(leftOut, [['wrong']]);
    assert.match(cache.misfits()[0]?.why.join() ?? '', /^description is null/);
    assert.equal(cache.listing.tool[1]?.faults, undefined);
    assert.equal(cache.listing.tool[1]?.bytes.toString(), '{');
  });

  test('clears the terms of caching', () => {
    const { cache } = open();
    cache.replace('tool', reading([], { freshUntil: 7, scope: 'public' }));
    cache.show(emptyListing);
    assert.deepEqual([cache.freshUntil('tool'), cache.scope('tool')], [0, 'private']);
  });
});
