import assert from 'node:assert/strict';
import { test } from 'vitest';
import { clearLanguage, otherLanguage } from '../../../hub/enhance/checks/language.ts';

test.each([
  ['what is the time', 'What is the time?'],
  ['Fasse zusammen: The fox is in the garden of the king.', 'Fasse den Text zusammen, bitte.'],
  ['fix login bug', 'Fix the bug in the login and explain what you changed.'],
  ['scrivi una lettera al comune', 'Scrivi una lettera formale al comune e chiedi la riparazione.'],
  ['translate 你好 to english', 'Translate 你好 to English.'],
  ['東京の天気', '東京の天気を教えてください。'],
  ['napisz wiersz o jesieni', 'Napisz krótki wiersz o jesieni w górach.'],
  ['3 + 4', 'What is the sum of 3 and 4?'],
])('%j and %j count as the same language', (prompt, result) => {
  assert.equal(otherLanguage(prompt, result), undefined);
});

test.each([
  ['Schreibe ein Gedicht über die Katze', 'Write a poem about the cat.', /en instead of de/],
  ['write a poem about the cat', 'Schreibe ein Gedicht über die Katze.', /de instead of en/],
  ['write a poem', '写一首诗。', /script/],
  ['напиши стих', 'Write a poem.', /script/],
  ['東京の天気', '东京的天气怎么样。', undefined],
  [
    'Türkiye’nin başkenti neresidir ve kaç kişi yaşıyor',
    'What is the capital of this country, and why?',
    /\(en\)/,
  ],
] as const)('of the prompt %j, the result %j is in another language', (prompt, result, why) => {
  const found = otherLanguage(prompt, result);
  if (why) assert.match(found ?? '', why);
  else assert.equal(found, undefined);
});

test('a single function word does not determine a language', () => {
  assert.equal(clearLanguage('login bug the'), undefined);
  assert.equal(clearLanguage('the bug is in the login'), 'en');
});
