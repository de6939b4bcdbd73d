import assert from 'node:assert/strict';
import { test } from 'vitest';
import { units } from '../../hub/enhance/units.ts';
import * as words from '../../hub/enhance/words.ts';

test.for([
  ['explain the error to my team', 'en'],
  ['erkläre mir den fehler', 'de'],
  ['explique le code de cette classe', 'fr'],
  ['explica el código de esta clase', 'es'],
  ['la', undefined],
  ['kubernetes', undefined],
  ['', undefined],
] as const)('%j is in the language %s', ([text, expected]) =>
  assert.equal(words.languageOf(words.wordsOf(text)), expected),
);

test.for([
  ['list', true],
  ['why', true],
  ['the', true],
  ['frankfurt', false],
] as const)('%s is a known first word of a sentence, not a name: %s', ([word, expected]) =>
  assert.equal(words.isOpener(word), expected),
);

test('every group of contrasting words has more than one meaning', () => {
  for (const group of words.contrasts)
    assert.ok(new Set(group.values()).size > 1, `${[...group.keys()].join(' ')} has no contrast`);
});

test('a unit is read case-sensitively', () => {
  assert.deepEqual(
    ['MB', 'Mb', 'Mbit', 'seconds', '%', '€'].map(unit => units.get(unit)),
    ['MB', 'Mb', 'Mb', 's', 'pct', 'eur'],
  );
});
