import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { lostDetails, lostWords } from '../../../hub/enhance/checks/kept-details.ts';

describe('a rewrite keeps the details', () => {
  test.for<readonly [string, string, string?]>([
    ['wait three days', 'Wait 3 days.'],
    ['wait 3 days', 'Wait three days.'],
    ['a 10 MB file', 'a file of 10 megabytes'],
    ['a 5-second pause', 'a pause of 5 seconds'],
    ['a seven-day trip', 'a trip of 7 days'],
    ['1 idea', 'one idea'],
    ['10,000 rows', '10000 rows'],
    ['1. cut\n2. glue', '- cut\n- glue'],
    ['see https://a.b/c.', 'See [it](https://a.b/c)'],
    ['in src/a.ts', 'in `src/a.ts`, please'],
    ['call getUser', 'call `getUser()`'],
    ['say “hello there”', 'say "hello there"'],
    ['list pros/cons', 'list pros and cons'],
    ['it works.Then fails', 'it works. Then fails'],
    ['use js', 'use JavaScript'],
    ['ask Anna', "ask about Anna's plan"],
    ['fix\n```js\n a()\n  b()\n```', 'Fix:\n\n   ```js\n    a()\n     b()\n   ```'],
    ['für vier Personen', 'für 4 Personen', 'de'],
    ['4 amigos', 'cuatro amigos', 'es'],
    ['der Text von Anna', 'ein Text', 'de'],
    ['什么是3个', '请列出 3 个'],
    ['mail a@b.de about #work {name}', 'a@b.de #work {name}'],
    ['e.g. a list', 'for example a list'],
    ['in May', 'in the month of May'],
    ['3 tests in 3 lines', 'Write 3 tests. Use three lines.'],
    ['port 8080 is taken, free port 8080', 'Free port 8080.'],
    ['3 tests, and name the 3 tests', 'Name 3 tests.'],
    ['change only the header', 'Change the header and nothing else.'],
    ['not only cats', 'cats and dogs'],
    ['a read-only file, if only I knew', 'a file that cannot be written'],
  ])('of %j in %j', ([prompt, result, language]) => {
    assert.deepEqual(lostDetails(prompt, result, language), []);
  });
});

describe('a rewrite loses the detail', () => {
  test.for<readonly [string, string, string, string?]>([
    ['5', 'in 5 steps', 'in 50 steps'],
    ['3 lines', '3 tests in 3 lines', 'Write three tests.'],
    ['4 days', '4 cities, 4 museums, 4 days', '4 cities with four museums'],
    ['10MB', 'up to 10 MB', 'up to 10 GB'],
    ['30s', 'wait 30 seconds', 'wait 30 minutes'],
    ['3', '3 ideas', '1. run\n2. eat\n3. rest'],
    ['src/a.ts', 'in src/a.ts', 'in src/a.tsx'],
    ['a.ts', 'in a.ts', 'in src/a.ts'],
    ['https://a.b/c', 'see https://a.b/c', 'see https://a.b/c/d'],
    ['getUser', 'call getUser', 'call getUsers'],
    ['getUser', 'call getUser', 'call getuser'],
    ['--force', 'with --force', 'with force'],
    ['"hello there"', 'say "hello there"', 'say "hello"'],
    ['a()', 'fix `a()`', 'fix `b()`'],
    ['python', 'in Python', 'in a language'],
    ['Anna', 'ask Anna', 'ask her'],
    ['a@b.de', 'mail a@b.de', 'mail a@b.com'],
    ['#work', 'tag #work', 'tag work'],
    ['{name}', 'hello {name}', 'hello name'],
    ['may', 'trip in may', 'trip'],
    ['friday', 'by friday', 'soon'],
    ['4', 'für vier Personen', 'für 5 Personen', 'de'],
    ['my', 'why does my fan spin', 'Why does your fan spin?'],
    ['1280x720', 'at 1280x720', 'at 1920x720'],
    ['only', 'change only the header', 'Change the header.'],
    ['nur', 'ändere nur den Titel', 'Ändere den Titel.', 'de'],
  ])('%j of %j in %j', ([lost, prompt, result, language]) => {
    assert.ok(lostDetails(prompt, result, language).includes(lost));
  });
});

test('a rewrite must keep most words, and nearly all in a result of the same length', () => {
  const prompt = 'write a polite letter: the broken heating';
  assert.deepEqual(lostWords(prompt, 'Write a kind letter about the faulty heater.'), [
    'polite',
    'broken',
  ]);
  const long =
    'Write a friendly letter that describes the faulty heater, asks for repair and offers times.';
  assert.deepEqual(lostWords(prompt, long), []);
  assert.deepEqual(lostWords(prompt, `Write a poem about nature. ${'It is long. '.repeat(5)}`), [
    'polite',
    'letter',
    'broken',
    'heating',
  ]);
});
