import assert from 'node:assert/strict';
import { test } from 'vitest';
import { changedNegation } from '../../../hub/enhance/checks/negation.ts';

test.each([
  ["don't use jQuery", 'Avoid jQuery.'],
  ['do not change the API', 'Refactor it without changing the API.'],
  ['use tabs, not spaces', 'Use tabs instead of spaces.'],
  ["it doesn't compile", 'Explain why it fails to compile.'],
  ['no tests', 'Leave out the tests; exclude them.'],
  ["I'm not sure how to start", 'How do I start?'],
  ['no more than 5 words', 'at most 5 words'],
  ['not only cats but dogs', 'cats and dogs'],
  ['add a button', 'Add a button. Do not add anything else.'],
  ['summarize in 3 sentences', 'Summarize it in 3 sentences. Do not exceed 3 sentences.'],
  ['how do i stop my dog barking', 'How can I train my dog not to bark?'],
  ['say "do not enter"', 'Say "do not enter".'],
  ['error: file not found at start', 'The error "file not found" is shown at start. Explain it.'],
  ['lösche die Datei nicht', 'Die Datei darf nicht gelöscht werden.'],
  ['fais-le sans sucre', 'Prépare-le sans sucre.'],
])('%j and %j have the same negations', (prompt, result) => {
  assert.equal(changedNegation(prompt, result), undefined);
});

test.each([
  ['do not change the API', 'Change the API.', 'it lost "not", which is about "change api"'],
  ['without sugar', 'with sugar', 'it lost "without", which is about "sugar"'],
  [
    'do not use recursion',
    'Do not add comments. Use recursion.',
    'it lost "not", which is about "use recursion"',
  ],
  ['keine Werbung', 'Schreibe Werbung.', 'it lost "keine", which is about "werbung"'],
  [
    'why tabs are better',
    'why tabs are not better',
    'it negates "better", which the prompt does not',
  ],
  [
    'parse it with regex',
    'Parse it without regex.',
    'it negates "regex", which the prompt does not',
  ],
])('of the prompt %j, the result %j changes a negation', (prompt, result, why) => {
  assert.equal(changedNegation(prompt, result), why);
});
