import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Clause, Term } from '../../hub/enhance/clause-types.ts';
import { activeOf, whoOf } from '../../hub/enhance/voice.ts';

const term = (stem: string, form: Term['form'] = 'plain'): Term => ({
  stem,
  form,
  raw: stem,
  isVerb: form !== 'plain',
  isDefinite: false,
});
const clause = (...chunks: readonly (readonly [string, ...Term[]])[]): Clause => ({
  head: 'main',
  chunks: chunks.map(([head, ...terms]) => ({ head, terms })),
});
const read = (clauses: readonly Clause[]) =>
  clauses.map(({ head, chunks }) =>
    [
      head,
      ...chunks.map(item => [item.head, ...item.terms.map(({ stem }) => stem)].join(' ')),
    ].join(),
  );

test('a passive with an agent is converted to active', () => {
  const passive = clause(['', term('memory'), term('free', 'passive')], ['by', term('collector')]);
  assert.deepEqual(read(activeOf(passive)), ['main, collector free memory']);
  const reduced = clause(['', term('jobs'), term('drop', 'ed')], ['by', term('worker')]);
  assert.deepEqual(read(activeOf(reduced)), ['main, jobs', 'rel, worker drop']);
});

test('"by" without a passive is unchanged', () => {
  const sorted = clause(['', term('sort'), term('files')], ['by', term('name')]);
  assert.deepEqual(activeOf(sorted), [sorted]);
});

test('a question for the agent of a passive is converted to active', () => {
  const asked = clause(['', term('file'), term('lock', 'passive')], ['before', term('crash')]);
  assert.deepEqual(read([whoOf(asked)]), ['main, lock file,before crash']);
  const none = clause(['', term('file')]);
  assert.equal(whoOf(none), none);
});
