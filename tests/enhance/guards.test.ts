import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { compareGuarded, maxComparedLength } from '../../hub/enhance/guards.ts';
import { readPairs } from '../bench/pairs-table.ts';

const verdictOf = (a: string, b: string) => {
  const { verdict } = compareGuarded(a, b);
  assert.equal(compareGuarded(b, a).verdict, verdict, 'the order of the two does not matter');
  return verdict;
};

describe('the same are', () => {
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

describe('a difference is seen in', () => {
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

describe('not taken for the same are', () => {
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

  test('a prompt and the same one without any of its words', () => {
    const polite =
      /^(?:hi|hey|hello|please|pls|thanks|thx|kindly|cheers|ok|so|actually|bitte|hallo|danke|merci|bonjour|gracias|hola|me|there|me\?|help)$/i;
    for (const { a } of readPairs().filter(({ half, same }) => half === 'tuning' && !same)) {
      const words = a.split(' ');
      words.forEach((word, at) => {
        const shorter = words.toSpliced(at, 1).join(' ');
        if (polite.test(word.replaceAll(/[^\p{L}]/gu, '')) || !/[\p{L}\d]/u.test(word)) return;
        assert.notEqual(compareGuarded(a, shorter).verdict, 'same', `${a} | ${shorter}`);
      });
    }
  });

  test('a prompt and the same one with two of its words in each other’s place', () => {
    for (const { a } of readPairs().filter(({ half, same }) => half === 'tuning' && !same)) {
      const words = a.split(' ');
      words.slice(1).forEach((word, at) => {
        const first = words[at] ?? '';
        if (first.toLowerCase() === word.toLowerCase()) return;
        const turned = words.toSpliced(at, 2, word, first).join(' ');
        assert.notEqual(compareGuarded(a, turned).verdict, 'same', `${a} | ${turned}`);
      });
    }
  });
});

describe('left to a judge are', () => {
  test.for([
    ['other words for it', 'Improve the speed of this query', 'Make this query run faster'],
    ['known synonyms', 'Fix the bug in this function', 'Repair the bug in this function'],
    ['parts that were moved', 'In Python, sort a list', 'Sort a list in Python'],
    ['things named in turn', 'Compare Vue and Svelte', 'Compare Svelte and Vue'],
  ] as const)('%s', ([, a, b]) => assert.equal(verdictOf(a, b), 'unsure'));
});

test('a prompt is itself, whatever its length, and nothing else above the limit', () => {
  const prompt = 'a '.repeat(maxComparedLength);
  assert.deepEqual(compareGuarded(prompt, prompt), { verdict: 'same', why: 'equal' });
  const { verdict, why } = compareGuarded(prompt, `please ${prompt}`);
  assert.deepEqual([verdict, why], ['different', 'longer than 8000 characters and not equal']);
});

test('no prompt takes long to compare', () => {
  const started = performance.now();
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
    '\t',
  ])
    compareGuarded(
      'a '.concat(piece.repeat(3_900 / piece.length)),
      piece.repeat(3_900 / piece.length),
    );
  assert.ok(performance.now() - started < 5_000);
});
