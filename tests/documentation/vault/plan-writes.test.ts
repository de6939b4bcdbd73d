import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ExistingNote } from '../../../hub/documentation/notes/frontmatter.ts';
import { planRemovals, planWrite } from '../../../hub/documentation/vault/plan-writes.ts';

const wanted = { name: 'n', sourceHash: 'new', model: undefined };
const note = (sourceHash: string, isEdited = false, model?: string): ExistingNote => ({
  source: '/repo',
  sourceHash,
  description: undefined,
  model,
  isEdited,
});
const [old, current] = [note('old'), note('new')];
const [oldEdited, currentEdited] = [note('old', true), note('new', true)];
const foreign: ExistingNote = { ...note('old', true), source: undefined, sourceHash: undefined };

describe('the action for a note:', () => {
  test.each<
    readonly [
      what: string,
      existing: Readonly<Record<string, ExistingNote>>,
      action: string,
      target: string | undefined,
    ]
  >([
    ['there is none', {}, 'create', 'n'],
    ['it is current', { n: current }, 'keep', undefined],
    ['it is current and edited', { n: currentEdited }, 'keep', undefined],
    ['its source changed', { n: old }, 'replace', 'n'],
    ['its source changed, and it was edited', { n: oldEdited }, 'beside', 'n.new'],
    ['the user has a note of this name', { n: foreign }, 'beside', 'n.new'],
    ['the one beside it is current', { n: oldEdited, 'n.new': current }, 'keep', undefined],
    ['the one beside it is old', { n: oldEdited, 'n.new': old }, 'beside', 'n.new'],
    ['both were edited', { n: oldEdited, 'n.new': oldEdited }, 'conflict', undefined],
  ])('%s', (_what, existing, action, target) => {
    assert.deepEqual(planWrite(wanted, new Map(Object.entries(existing))), {
      name: 'n',
      action,
      target,
    });
  });

  test.each([
    ['x', 'x', 'keep'],
    ['x', undefined, 'keep'],
    [undefined, 'x', 'replace'],
    ['x', 'y', 'replace'],
  ])('of the model %s before, and of %s now', (before, now, action) => {
    const existing = new Map([['n', note('new', false, before)]]);
    assert.equal(planWrite({ ...wanted, model: now }, existing).action, action);
  });
});

test('notes without a module are removed, unless the user edited them', () => {
  const existing = {
    n: oldEdited,
    'n.new': old,
    m: current,
    'm.new': old,
    gone: old,
    'gone edited': oldEdited,
    own: foreign,
  };
  assert.deepEqual(
    planRemovals([wanted, { ...wanted, name: 'm' }], new Map(Object.entries(existing))),
    ['m.new', 'gone'],
  );
});
