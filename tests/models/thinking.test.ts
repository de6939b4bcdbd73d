import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { createThoughtFilter } from '../../hub/models/thinking.ts';

type Case = readonly [answer: string, text: string, hasThoughts: boolean];

const cases: readonly Case[] = [
  ['plain text', 'plain text', false],
  ['  plain text\n', 'plain text', false],
  ['<think>hm</think>\n\ntext', 'text', true],
  ['\n<THINKING>hm\nhm</thinking> text', 'text', true],
  ['<think>a</think><think>b</think>text', 'text', true],
  ['<think></think>text', 'text', true],
  ['<think>never done', '', true],
  ['<think>only thoughts</think>', '', true],
  // The model's template opened the thought in the prompt, so the answer only closes it.
  ['so, let me see</think>text', 'text', true],
  ['write about <think> tags', 'write about <think> tags', false],
  ['put <think>it</think> there', 'put <think>it</think> there', false],
  ['<think>hm</think>put <think>it</think> there', 'put <think>it</think> there', true],
  ['<thin ice', '<thin ice', false],
  ['<think', '<think', false],
  ['', '', false],
];

function read(pieces: readonly string[]) {
  const filter = createThoughtFilter();
  const shown = pieces.map(piece => filter.push(piece)).join('');
  return { shown, ...filter.end() };
}

describe('thoughts in tags at the head of an answer', () => {
  for (const [answer, text, hasThoughts] of cases)
    test(`in ${JSON.stringify(answer)} leave ${JSON.stringify(text)}, however it is split`, () => {
      const ways = [[answer], answer.split(''), answer.match(/.{1,3}/gs) ?? []];
      for (const pieces of ways) {
        const { text: found, hasThoughts: thought } = read(pieces);
        assert.deepEqual({ found, thought }, { found: text, thought: hasThoughts });
      }
    });

  test('are removed however many there are, and line breaks without end take linear time', () => {
    const many = '<think></think>'.repeat(60_000);
    assert.equal(read([`${many}text`]).text, 'text');
    const spent = startCpuTimer();
    assert.deepEqual(read(Array.from({ length: 200_000 }, () => '\n')), {
      shown: '',
      text: '',
      hasThoughts: false,
    });
    assert.ok(spent() < 2_000, 'each piece searched all pieces before it');
  });

  test('are not reported while they arrive', () => {
    assert.equal(read('<think>hm</think>text'.split('')).shown, 'text');
    assert.equal(read(['<th', 'ink>h', 'm</thi', 'nk>', 'te', 'xt']).shown, 'text');
  });
});
