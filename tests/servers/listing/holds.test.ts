import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createEmitter } from '#core';
import { configOf } from '#helpers/hub';
import { heldKey } from '#servers';
import { type DefinitionGuard, createHolds } from '../../../hub/servers/listing/holds.ts';

const config = configOf({ name: 'calc' });
const item = (key: string, text = key) => ({ key, bytes: Buffer.from(text) });

/** Creates holds, whose guard withholds items and instructions with the text "bad". */
function open() {
  const changed = createEmitter<readonly string[] | undefined>();
  let compared = 0;
  const guard: DefinitionGuard = {
    seen() {},
    heldIn(_, { tool, prompt, instructions }) {
      compared += tool.length + prompt.length;
      const bad = (kind: 'tool' | 'prompt', items: typeof tool) =>
        items
          .filter(({ bytes }) => bytes.toString() === 'bad')
          .map(({ key: name }) => ({ kind, name, state: 'changed' }) as const);
      const said = instructions === 'bad' ? [{ kind: 'instructions', name: '' } as const] : [];
      return [
        ...bad('tool', tool),
        ...bad('prompt', prompt),
        ...said.map(one => ({ ...one, state: 'changed' }) as const),
      ];
    },
    mayHold: () => true,
    changed: changed.event,
  };
  return { holds: createHolds(() => config, guard), changed, compared: () => compared };
}

describe('a list that was read', () => {
  test('has its held items marked, by their keys', () => {
    const { holds } = open();
    const marked = holds.mark('tool', [item('add', 'bad'), item('sub')]);
    assert.deepEqual(
      marked.map(({ key, isHeld }) => [key, isHeld === true]),
      [
        ['add', true],
        ['sub', false],
      ],
    );
    assert.deepEqual(holds.keys, new Set([heldKey('tool', 'add')]));
  });

  test('is the same object if none of its items is held', () => {
    const { holds } = open();
    const items = [item('add'), item('sub')];
    assert.equal(holds.mark('tool', items), items);
    assert.equal(holds.keys, undefined);
  });

  test('is not affected by items that are held in other lists', () => {
    const { holds } = open();
    holds.mark('tool', [item('add', 'bad')]);
    holds.mark('prompt', [item('add', 'bad')]);
    holds.instructed('bad');
    holds.mark('tool', [item('add')]);
    assert.deepEqual(holds.keys, new Set([heldKey('prompt', 'add'), heldKey('instructions', '')]));
    holds.instructed('good');
    holds.mark('prompt', []);
    assert.equal(holds.keys, undefined);
  });

  test('is never compared if it is of resources', () => {
    const { holds, compared } = open();
    const items = [item('file:///a', 'bad')];
    assert.equal(holds.mark('resource', items), items);
    assert.equal(compared(), 0);
  });
});

test('an item that passes is compared only if it differs from the one that was read', () => {
  const { holds, compared } = open();
  const [known = assert.fail()] = holds.mark('tool', [item('add', 'bad')]);
  const before = compared();
  assert.ok(holds.holds('tool', 'add', Buffer.from('bad'), known));
  assert.equal(compared(), before);
  assert.ok(!holds.holds('tool', 'add', Buffer.from('good'), known));
  assert.ok(holds.holds('tool', 'new', Buffer.from('bad'), undefined));
  assert.equal(compared(), before + 2);
});

test('a change of the pins of this server is noticed, and one of another is not', () => {
  const { holds, changed } = open();
  let reviews = 0;
  using _heard = holds.hear(() => void reviews++);
  changed.fire(['notes']);
  assert.equal(reviews, 0);
  changed.fire(['notes', 'calc']);
  assert.equal(reviews, 1);
  changed.fire(undefined);
  assert.equal(reviews, 2, 'of all servers');
});

test('without pinned definitions nothing is held', () => {
  const holds = createHolds(() => config, undefined);
  const items = [item('add', 'bad')];
  assert.equal(holds.mark('tool', items), items);
  assert.deepEqual(
    [holds.keys, holds.mayHold, holds.hear(() => {})],
    [undefined, false, undefined],
  );
});
