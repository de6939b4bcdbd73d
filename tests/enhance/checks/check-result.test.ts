import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { checkResult } from '../../../hub/enhance/checks/check-result.ts';
import { isAccepted, readResults } from '../../bench/results-table.ts';

const rule = { maxGrowth: 2, systemPrompt: 'Make it clear.' };
const faultOf = (text: string, prompt: string) => {
  const checked = checkResult(text, prompt, rule);
  return 'kind' in checked ? checked.kind : undefined;
};

describe('a result', () => {
  test.each([
    "I'm sorry, but I can't assist with that request.",
    'I’m sorry, I cannot help with this.',
    'Sorry, but I am not able to do that.',
    'I apologize, but this is not something that I can do.',
    'I cannot assist with that.',
    'I can’t help with hacking.',
    "I won't provide that.",
    "I'm unable to rewrite this prompt.",
    'As an AI language model, I do not have opinions.',
    'As a large language model I cannot know that.',
    "**I'm an AI** and cannot do that.",
    'Es tut mir leid, aber dabei kann ich nicht helfen.',
  ])('that begins like %j is a refusal', text => {
    assert.equal(faultOf(text, 'write a poem'), 'refusal');
  });

  test.each([
    ['I cannot get the build to run: explain why.', 'why does the build not run'],
    ["I can't connect to the server. List the likely causes.", 'cannot connect to the server'],
    ['Write a letter that begins with "I am sorry, but".', 'letter: "I am sorry, but"'],
    ['Explain what an AI language model is.', 'what is an ai language model'],
    ['I am an engineer. Review this design.', 'review this design, i am an engineer'],
  ])('that begins like %j is not a refusal', (text, prompt) => {
    assert.equal(faultOf(text, prompt), undefined);
  });

  test('may have 4000 characters for a short prompt, and so many more than a long one', () => {
    assert.equal(faultOf('a'.repeat(4000), 'p'), undefined);
    assert.equal(faultOf('a'.repeat(4001), 'p'), 'overgrown');
    const prompt = 'p'.repeat(3000);
    assert.equal(faultOf(prompt + 'a'.repeat(3001), prompt), 'overgrown');
    assert.notEqual(faultOf(prompt + 'a'.repeat(3000), prompt), 'overgrown');
  });

  test('with a replacement character instead of a letter is refused', () => {
    assert.equal(faultOf('Explain ca\ufffds.', 'explain cats'), 'lost_detail');
  });

  test('that equals the prompt is accepted', () => {
    assert.equal(faultOf('Canberra is nice.', 'Canberra is nice.'), undefined);
  });

  test('is refused with the details that it lost, of which three are named', () => {
    assert.deepEqual(checkResult('Count to ten.', 'count 11, 12, 13, 14', rule), {
      kind: 'lost_detail',
      message: 'it lost 11, 12, 13 and 1 more',
    });
  });
});

test.each(readResults())('of the results in tests/data, $category, good $good: $prompt', rated => {
  assert.equal(isAccepted(rated), rated.good);
});

test.each([
  ['letters', 'a', ''],
  ['words', 'ab ', ' '],
  ['blanks', ' ', 'b'],
  ['lines', '\n', 'b'],
  ['brackets', '[[ ', ' {{'],
  ['quotes', '" ', "' "],
  ['paths', 'a/b ', 'c.d '],
  ['negations', 'do not touch it, ', 'never '],
  ['names', 'the Ab ', 'the Ac '],
])('24,000 characters of %s are checked at once', (_what, given, more) => {
  const times = (text: string, length: number) => text.repeat(Math.ceil(length / text.length));
  const prompt = `x ${times(given, 24_000)}`;
  const cpuMs = startCpuTimer();
  checkResult(times(given + more, 45_000), prompt, rule);
  assert.ok(cpuMs() < 3_000);
});

/** Returns 24,000 characters of texts that differ: `text` for each number, whose digits become letters. */
function distinct(text: (word: string, at: number) => string): string {
  const wordOf = (at: number) =>
    String((at * 7_919) % 100_003).replaceAll(/\d/g, digit => 'bdfgaeoukm'.charAt(Number(digit)));
  const texts = Array.from({ length: 6_000 }, (_, at) => text(wordOf(at), at));
  return texts.join(' ').slice(0, 24_000);
}

test.each([
  ['dates', distinct(word => `monday ${word}`), distinct(word => `z${word}`)],
  ['pairs', distinct(word => `${word}/${word}x`), distinct(word => `z${word}`)],
  [
    'words around negations',
    distinct((word, at) => (at < 600 && at % 12 === 0 ? 'not' : word + (at % 12 < 11 ? '' : '.'))),
    distinct((word, at) => (at % 12 === 0 ? 'not' : `z${word}${at % 12 < 11 ? '' : '.'}`)),
  ],
])('24,000 characters of distinct %s are compared at once', (_what, given, text) => {
  const cpuMs = startCpuTimer();
  checkResult(`Please explain the following. ${text}`, `Explain this: ${given}`, rule);
  assert.ok(cpuMs() < 1_000);
});
