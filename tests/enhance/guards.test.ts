import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { isLong } from '#helpers/length';
import { compareGuarded, maxComparedLength } from '../../hub/enhance/guards.ts';
import { readPairs } from '../bench/pairs-table.ts';

const verdictOf = (a: string, b: string) => {
  const { verdict } = compareGuarded(a, b);
  assert.equal(compareGuarded(b, a).verdict, verdict, 'the order of the two does not matter');
  return verdict;
};

/** Pairs of the tuning half whose prompts are similar, but not the same. */
const traps = readPairs().filter(({ half, same }) => half === 'tuning' && !same);
/**
 * Returns true if the word at this place is changed. The short form changes every ninth word, at other places in each
 * prompt.
 */
const isTried = (place: number) => isLong || place % 9 === 0;

describe('the guards call the same:', () => {
  test.for([
    [
      'a greeting and thanks',
      'Fix this test',
      'Hi there, could you please fix this test? Thanks a lot!',
    ],
    ['a wish', 'Write a haiku', "I'd like you to write a haiku"],
    ['a German please', 'Prüfe den Code der Klasse', 'Prüfe bitte den Code der Klasse'],
    ['contractions in full', "Don't say what's wrong", 'Do not say what is wrong'],
    ['contractions in capitals', "please DON'T print it", 'DO not print it'],
    ['the first letter', 'explain the event loop', 'Explain the event loop'],
    ['the marks at the end', 'What is a monad', 'What is a monad??'],
    [
      'known names in small letters',
      'use typescript and postgresql',
      'use TypeScript and Postgres',
    ],
    ['curly quotes', 'What does “strict” do?', 'What does "strict" do?'],
    ['units with a blank', 'wait 10 ms', 'wait 10ms'],
    ['units in words', 'wait 10 seconds', 'wait 10s'],
    ['thousands in English', 'Generate 10,000 of the rows', 'Generate 10000 of the rows'],
    ['numbers in words', 'give me three examples', 'give me 3 examples'],
    ['two forms of a letter', 'add a caf\u00e9', 'add a cafe\u0301'],
    ['a payload on the next line', 'Explain this:\ncannot read x', 'Explain this: cannot read x'],
  ] as const)('%s', ([, a, b]) => assert.equal(verdictOf(a, b), 'same'));
});

describe('the guards see a difference in', () => {
  test.for([
    ['numbers', 'print 10 lines', 'print 11 lines'],
    ['units', 'wait 10 m', 'wait 10 min'],
    ['the case of units', 'cap it at 5 Mb', 'cap it at 5 MB'],
    ['versions', 'use Node 20.1', 'use Node 20.10'],
    ['paths', 'read src/a.ts', 'read src/b.ts'],
    ['dots before a name', 'add .env to it', 'add env to it'],
    ['identifiers', 'call getUser', 'call getUsers'],
    ['the order of identifiers', 'rename getUser to fetchUser', 'rename fetchUser to getUser'],
    ['quoted texts', 'print "Hello"', 'print "hello"'],
    ['kinds of quotes', "print 'a'", 'print "a"'],
    ['code', 'explain `a b`', 'explain a b'],
    ['operators', 'check x != y', 'check x == y'],
    ['a negation sign', 'check !ok', 'check ok'],
    ['signs that are no letters', 'use x ≤ 3', 'use x ≥ 3'],
    ['the order of signs', 'replace 😀 with 😎', 'replace 😎 with 😀'],
    ['C and C++', 'explain C++', 'explain C'],
    ['names', 'deploy it to Frankfurt', 'deploy it to Dublin'],
    ['known names in small letters', 'explain kafka streams', 'explain redis streams'],
    ['negation', 'it must work', 'it must not work'],
    ['directions', 'convert json to yaml', 'convert yaml to json'],
    ['roles', 'the client calls the server', 'the server calls the client'],
    ['times', 'run it before lunch', 'run it after lunch'],
    ['measures', 'remove all imports', 'remove imports'],
    ['opposites', 'enable the cache', 'disable the cache'],
    ['kinds', 'write a parser for it', 'write a lexer for it'],
    ['languages', 'Explain the stack to me', 'Erkläre mir den Stack'],
    ['payloads', 'Translate to German: good', 'Translate to German: bad'],
    ['a payload about thanks', 'Translate to German: thanks', 'Translate to German: please'],
    ['German decimals', 'Setze den Wert auf 1,500 für mich', 'Setze den Wert auf 1500 für mich'],
    ['spellings that are the matter', 'rename React to react', 'rename react to React'],
  ] as const)('%s', ([, a, b]) => assert.equal(verdictOf(a, b), 'different'));
});

describe('the guards do not call the same:', () => {
  test.for([
    ['a question whether and a request', 'Can you use await here?', 'Use await here'],
    ['an opinion and a request', 'Would you use Redis here?', 'Use Redis here'],
    ['a word of politeness that it is about', 'How do you say please?', 'How do you say?'],
    ['a greeting that it is about', 'hello, world in Go', 'world in Go'],
    ['a question and a statement', 'You can use it?', 'You can use it.'],
    ['a no and its comma', 'No, use tabs', 'No use tabs'],
    ['letters by case', 'what is i', 'what is I'],
    ['words by case', 'send it to US', 'send it to us'],
    ['a type and a variable', 'List is empty', 'list is empty'],
    ['an abbreviation and a word', 'IT is slow', 'it is slow'],
    ['indentation', 'Fix this:\nif x:\n  a\n  b', 'Fix this:\nif x:\n  a\nb'],
    ['blanks in code', 'Fix this:\n```\na  b\n```', 'Fix this:\n```\na b\n```'],
    ['where a sentence ends', 'Fix it. Then stop', 'Fix it then. Stop'],
    ['thanks in a payload', 'Answer this mail:\nI see. Thanks', 'Answer this mail:\nI see.'],
    ['other scripts', '解释这个错误', '解释这个函数'],
    ['nothing but marks', '???', '!!!'],
  ] as const)('%s', ([, a, b]) => assert.notEqual(verdictOf(a, b), 'same'));

  test('a prompt and the same prompt without any one of its words', () => {
    const polite =
      /^(?:hi|hey|hello|please|pls|thanks|thx|kindly|cheers|ok|so|actually|bitte|hallo|danke|merci|bonjour|gracias|hola|me|there|me\?|help)$/i;
    for (const [number, { a }] of traps.entries()) {
      const words = a.split(' ');
      words.forEach((word, at) => {
        if (!isTried(number + at)) return;
        const shorter = words.toSpliced(at, 1).join(' ');
        if (polite.test(word.replaceAll(/[^\p{L}]/gu, '')) || !/[\p{L}\d]/u.test(word)) return;
        assert.notEqual(compareGuarded(a, shorter).verdict, 'same', `${a} | ${shorter}`);
      });
    }
  });

  test('a prompt and the same prompt with any two of its words exchanged', () => {
    for (const [number, { a }] of traps.entries()) {
      const words = a.split(' ');
      words.slice(1).forEach((word, at) => {
        if (!isTried(number + at)) return;
        const first = words[at] ?? '';
        if (first.toLowerCase() === word.toLowerCase()) return;
        const turned = words.toSpliced(at, 2, word, first).join(' ');
        assert.notEqual(compareGuarded(a, turned).verdict, 'same', `${a} | ${turned}`);
      });
    }
  });
});

describe('the guards call alike:', () => {
  test.for([
    ['synonyms', 'Fix the bug in this function', 'Repair the mistake in this function'],
    ['idioms', 'Make this query faster', 'Speed up this query'],
    ['parts that were moved', 'In Python, sort a list', 'Sort a list in Python'],
    ['clauses that were moved', 'If it fails, print why', 'Print why if it fails'],
    ['parts before any verb', 'For a game, invent a map', 'Invent a map for a game'],
    ['things named in turn', 'Compare Vue and Svelte', 'Compare Svelte and Vue'],
    ['a number in words', 'Plan a 3-day trip to Lisbon', 'Plan a three day trip to Lisbon'],
    ['a unit', 'Plan a 3d trip to Lisbon', 'Plan a 3-day trip to Lisbon'],
    ['how and explain to me how', 'How do I exit vim?', 'Show me how to quit vim'],
    ['times', 'Run the backup every night', 'Run the backup nightly'],
    ['all and every', 'Delete all comments in it', 'Delete every comment in it'],
    ['find and look for', 'Find unused imports', 'Look for unused imports'],
    ['a verb in front', 'Regex for a German postcode', 'Write a regex for a German postcode'],
    ['an article', 'Fix the tests of the parser', 'Fix tests of parser'],
    ['active and passive', 'Which services does it call?', 'Which services are called by it?'],
    ['a clause and a question', 'Which files import utils.ts?', 'List files that import utils.ts'],
    ['capitals in other languages', 'wie nutze ich node', 'Wie nutze ich Node?'],
  ] as const)('%s', ([, a, b]) => assert.ok(['alike', 'same'].includes(verdictOf(a, b))));
});

describe('the guards see a difference in roles in', () => {
  test.for([
    ['questions', 'Which files import utils.ts?', 'Which files does utils.ts import?'],
    ['the passive', 'Which files import utils.ts?', 'Which files are imported by utils.ts?'],
    ['objects', 'Who invited Anna?', 'Who did Anna invite?'],
    ['clauses', 'Find the user that banned root', 'Find the user that root banned'],
    ['"from" and "to"', 'Move the file from src to lib', 'Move the file from lib to src'],
    ['"of"', 'What is the parent of the child?', 'What is the child of the parent?'],
    ['"by"', 'Divide the sum by the count', 'Divide the count by the sum'],
    ['places', 'Put the key in a on the map in b', 'Put the key in b on the map in a'],
    ['what an adjective belongs to', 'Use red apples and pears', 'Use red pears and apples'],
    [
      'a name before a noun',
      'Connect a Redis client to a server',
      'Connect a client to a Redis server',
    ],
    ['conditions', 'Stop if it fails and print it', 'Stop and print it if it fails'],
  ] as const)('%s', ([, a, b]) => assert.equal(verdictOf(a, b), 'different'));
});

describe('the guards do not call alike:', () => {
  test.for([
    ['one and many', 'Delete the branch of Anna', 'Delete the branches of Anna'],
    ['another tense', 'Is the server of Anna down?', 'Was the server of Anna down?'],
    ['now and then', 'Explain why the job fails', 'Explain why the job failed'],
    ['doing and being done to', 'Show the calling function', 'Show the called function'],
    [
      'another kind of thing',
      'Write a test for the class Foo_a',
      'Write a test for the function Foo_a',
    ],
    ['to do and how to do', 'Delete a branch', 'How do I delete a branch?'],
    ['a verb and a command', 'Write a GET request', 'Write a fetch request'],
    ['who may', 'Can I delete this branch?', 'Can you delete this branch?'],
    [
      'two questions and one',
      'When is it printed, and what fails?',
      'What fails when it is printed?',
    ],
    ['an added word', 'Explain the plan of the trip', 'Explain the plan of the long trip'],
  ] as const)('%s', ([, a, b]) =>
    assert.ok(!['alike', 'same'].includes(verdictOf(a, b)), compareGuarded(a, b).why),
  );
});

describe('for the prompts of the tuning half, the guards call', () => {
  const prompts = [
    ...new Set(readPairs().flatMap(({ a, b, half }) => (half === 'tuning' ? [a, b] : []))),
  ];
  const isHit = (a: string, b: string) => ['same', 'alike'].includes(compareGuarded(a, b).verdict);

  test('each the same as itself', () => {
    for (const prompt of prompts)
      assert.equal(compareGuarded(prompt, `${prompt} `).verdict, 'same');
  });

  test('none the same with another number', () => {
    for (const prompt of prompts)
      for (const { 0: digits, index } of prompt.matchAll(/\d+/g)) {
        const end = index + digits.length;
        const other = `${prompt.slice(0, index)}${Number(digits) + 1}${prompt.slice(end)}`;
        assert.ok(!isHit(prompt, other), other);
      }
  });

  const negations = ['not', 'never', 'without'];
  test.for(negations)('none the same with an additional "%s"', negation => {
    for (const [number, prompt] of prompts.entries()) {
      const words = prompt.split(' ');
      for (const [at] of words.entries()) {
        // In the short form, each negation is inserted at other places.
        if (!isTried(number + at + negations.indexOf(negation))) continue;
        const other = words.toSpliced(at, 0, negation).join(' ');
        assert.ok(!isHit(prompt, other), other);
      }
    }
  });

  test('none is one with two of its names in each other’s place', () => {
    // "I" and "I'm" start with a capital letter, but are not names.
    const isName = (word = '') =>
      !/^I\b/.test(word) && /[/_.\d]|^\p{Lu}|\p{Ll}\p{Lu}/u.test(word.replace(/\W+$/, ''));
    const swapped = new Set(['and', 'or']);
    // The order of compared things does not matter.
    for (const prompt of prompts.filter(text => !text.startsWith('Compare'))) {
      const words = prompt.split(' ');
      for (let i = 1; i < words.length; i++)
        for (let j = i + 1; j < words.length; j++) {
          const [first = '', second = ''] = [words[i], words[j]];
          // Names that "and" or "or" joins may change places.
          const isJoined = j === i + 2 && swapped.has(words[i + 1] ?? '');
          const isOpener = /[.?!:]$/.test(words[i - 1] ?? '') || /[.?!:]$/.test(words[j - 1] ?? '');
          // "December 24" is the same as "24 December".
          const isDate = j === i + 1 && /^\d+\W?$/.test(second) && /^\p{Lu}\p{Ll}+$/u.test(first);
          if (
            isDate ||
            first === second ||
            isOpener ||
            isJoined ||
            !isName(first) ||
            !isName(second)
          )
            continue;
          const other = words.with(i, second).with(j, first).join(' ');
          assert.ok(!isHit(prompt, other), `${prompt} | ${other}`);
        }
    }
  });
});

test('reasons quote the words that differ', () => {
  const whyOf = (a: string, b: string) => compareGuarded(a, b).why;
  assert.equal(whyOf('wait 10 ms', 'wait 10 s'), 'other numbers: “10ms” and “10s”');
  assert.equal(
    whyOf('Wrap this call', 'Encapsulate this request in a promise'),
    'not explained: “wrap”, “call” and “encapsulate”, “request”, “promise”',
  );
});

test('a prompt equals itself at any length, and nothing else above the limit', () => {
  const prompt = 'a '.repeat(maxComparedLength);
  assert.deepEqual(compareGuarded(prompt, prompt), { verdict: 'same', why: 'equal' });
  const { verdict, why } = compareGuarded(prompt, `please ${prompt}`);
  assert.deepEqual([verdict, why], ['different', 'longer than 8000 characters and not equal']);
});

test('no comparison takes long', () => {
  const cpuMs = startCpuTimer();
  for (const piece of [
    'a',
    ':',
    'a.',
    '"',
    "' ",
    ' ',
    '_',
    '1_',
    '—',
    'thanks ',
    ' a=',
    'x-',
    'make ',
    'what ',
    'how to ',
    'that is ',
    'difference between ',
    'by used ',
    '\t',
  ])
    compareGuarded(
      'a '.concat(piece.repeat(3_900 / piece.length)),
      piece.repeat(3_900 / piece.length),
    );
  assert.ok(cpuMs() < 5_000);
});
