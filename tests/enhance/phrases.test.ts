import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { closed, parseVocabulary, vocabulary } from '../../hub/enhance/phrases.ts';
import { contrasts } from '../../hub/enhance/words.ts';

const { groups, intents, dropped, stem } = vocabulary();
const shippedUrl = new URL('../../hub/enhance/assets/phrases.txt', import.meta.url);

test('no phrase is in two groups', () => {
  for (const phrases of [...groups.values(), ...intents.values()]) {
    const named = Map.groupBy(phrases, ({ stems }) => stems.join(' '));
    for (const [phrase, list] of named)
      assert.equal(new Set(list.map(({ name }) => name)).size, 1, phrase);
  }
});

test('no name of a group is a word with a function of its own', () => {
  const used = new Set(['all', 'can', 'must', 'etc']);
  for (const { name } of [...groups.values()].flat())
    assert.ok(used.has(name) || (!dropped.has(name) && !closed.has(name)), name);
});

test('no two words of a group contrast', () => {
  const groupOf = (word: string) =>
    groups.get(stem(word).stem)?.find(({ stems }) => stems.length === 1)?.name;
  for (const group of contrasts) {
    const words = [...group].filter(([word]) => groupOf(word) !== undefined);
    for (const [word, meaning] of words)
      for (const [other, otherMeaning] of words)
        if (groupOf(word) === groupOf(other))
          assert.equal(meaning, otherMeaning, `${word} and ${other}`);
  }
});

test('all sections of the file are read', () => {
  const names = readFileSync(shippedUrl, 'utf8').matchAll(/^\[(\w+)\]$/gm);
  const sections = [...names].map(([, name]) => name);
  const known =
    'leads intents rewrites words verbs verbsalone forms plurals dropped kinds plain neutral light near';
  assert.deepEqual(sections, known.split(' '));
});

test('alternatives, slots and irregular forms are parsed', () => {
  const parsed = parseVocabulary(`# a comment
[leads]
tell (me/us)
[rewrites]
shut: shut * down | power off
[verbs]
begin | commence
[forms]
begin began`);
  assert.deepEqual(
    parsed.leads.get('tell~')?.map(({ stems }) => stems),
    [
      ['tell~', 'me'],
      ['tell~', 'us'],
    ],
  );
  assert.deepEqual(parsed.groups.get('shut~'), [{ name: 'shut', stems: ['shut~', '*', 'down~'] }]);
  assert.deepEqual(parsed.groups.get('commence~'), [{ name: '=begin', stems: ['commence~'] }]);
  assert.deepEqual(parsed.stem('began'), { stem: 'begin~', form: 'ed' });
  assert.ok(parsed.verbs.has('=begin'));
});
