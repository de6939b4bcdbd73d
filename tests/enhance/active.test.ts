import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { asActive } from '../../hub/enhance/active.ts';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { sentenceOf } from '../../hub/enhance/terms.ts';

const read = (text: string) => {
  const { intent, lexemes } = asActive(sentenceOf(readTokens(text), ''));
  return [intent, ...lexemes.map(({ raw }) => raw)].filter(Boolean).join(' ');
};

describe('a passive with an agent is read as active', () => {
  test.for([
    ['Describe how threads are scheduled by the kernel', 'explainhow the kernel scheduled threads'],
    ['Check that names are rejected by the server', 'the server rejected names'],
    ['By which service are the uploads processed', 'which service processed the uploads'],
    ['By whom was the draft of the law written', 'who written the draft of the law'],
    ['Explain how pods are moved onto nodes by the engine', 'the engine moved pods onto nodes'],
    ['Which gas is used by plants during the day', 'which gas does plants used during the day'],
    ['In which year was the law written by the king', 'which year did the king written the law'],
    ['Can the mails be deleted by the boss', 'can the boss deleted the mails'],
    ['Why was the law written by Ann and Bob', 'why Ann and Bob written the law'],
    ['All passwords must be encrypted', 'want encrypted all passwords'],
    ['The report should be approved by the manager', 'the manager should approved the report'],
  ] as const)('%s', ([passive, active]) =>
    assert.ok(read(passive).endsWith(active), read(passive)),
  );
});

describe('other texts are unchanged', () => {
  test.for([
    ['the list is sorted by 10 rows', 'the list is sorted by 10 rows'],
    ['it is done by using a loop', 'it is done by using a loop'],
    ['it was bought by Ann and sold by Bob', 'Ann bought it and sold by Bob'],
  ] as const)('%s', ([text, same]) => assert.equal(read(text), same));
});

const isHit = (a: string, b: string) =>
  [compareGuarded(a, b), compareGuarded(b, a)].map(({ verdict }) => verdict === 'alike');

test('a passive and its active form are the same request', () => {
  for (const [a, b] of [
    ['Which service processes the uploads?', 'By which service are the uploads processed?'],
    ['Describe how the team tests releases', 'Describe how releases are tested by the team'],
    ['Who wrote the first draft of the law?', 'By whom was the first draft of the law written?'],
    ['How often should I change the oil?', 'How often should the oil be changed?'],
    ['Do slugs eat lavender?', 'Is lavender eaten by slugs?'],
    ['Which lands did the king invade?', 'Which lands were invaded by the king?'],
    ['Why did Spain and Portugal sign it?', 'Why was it signed by Spain and Portugal?'],
    ['We must encrypt all passwords', 'All passwords must be encrypted'],
  ] as const)
    assert.deepEqual(isHit(a, b), [true, true], a);
});

test('a passive with exchanged roles is another request', () => {
  for (const [a, b] of [
    ['Explain how the cache is used by the parser', 'Explain how the parser is used by the cache'],
    ['Which modules are used by the parser?', 'Which modules use the parser?'],
    ['By which team was the match won?', 'By which match was the team won?'],
    ['The job must be started by the user', 'The user must be started by the job'],
    [
      'Show the request that was sent by the client',
      'Show the request that was sent to the client',
    ],
    [
      'Could the request be rejected by the server?',
      'Could the server be rejected by the request?',
    ],
    ['Why was Ulm hit by Ann and Bob?', 'Why were Ulm and Bob hit by Ann?'],
    ['Why was Ulm hit by Ann and Bob?', 'Why did Ulm hit Ann and Bob?'],
    ['Was it bought by Ann and sold by Bob?', 'Was it sold by Ann and bought by Bob?'],
    ['When should a child be paid?', 'When should a child pay?'],
    ['How often should my boss be called?', 'How often should my boss call me?'],
    [
      'How often should the lid of the pot be cleaned?',
      'How often should I clean the pot of the lid?',
    ],
    ['Where must the tax be paid?', 'Where must I pay the tax?'],
    ['Is lavender eaten by slugs?', 'Are slugs eaten by lavender?'],
    ['Who was called by the bot?', 'Who called the bot?'],
  ] as const)
    assert.deepEqual(isHit(a, b), [false, false], a);
});
