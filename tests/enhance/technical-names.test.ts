import assert from 'node:assert/strict';
import { test } from 'vitest';
import { replaced, withPlainCode } from '../../hub/enhance/technical-names.ts';

test.for([
  ['Explain the file src/a.ts', 'Explain src/a.ts'],
  ['Explain the package.json file', 'Explain package.json'],
  ['Create a file called notes.txt', 'Create notes.txt'],
  ['Count the files in /etc/nginx/', 'Count the files in /etc/nginx'],
  ['List the directory ./src/utils', 'List src/utils'],
  ['Set the environment variable API_KEY', 'Set the API_KEY environment variable'],
  ['What does the flag -r do', 'What does the -r option do'],
  ['What is the $PATH variable', 'What is the PATH variable'],
  ['Search with the grep command', 'Search with grep'],
  ['Why is it *never* safe', 'Why is it never safe'],
  ['Upgrade Angular from v15 to v16', 'Upgrade from Angular 15 to 16'],
] as const)('%s is compared as %s', ([text, compared]) =>
  assert.equal(withPlainCode(text), compared),
);

test.for([
  'Delete ./run.sh',
  'Does rsync copy /data/ or its content',
  'Write a .csv file',
  'Write a Three.js script',
  'Delete all branches named *old*',
  'Use ${HOME} in a Makefile',
  'Print the name column',
] as const)('%s is unchanged', text => assert.equal(withPlainCode(text), text));

test('a notation is not replaced if that makes two details equal', () => {
  assert.equal(replaced('a b', [[/b/g, 'x']]), 'a x');
  assert.equal(replaced('big and large', [[/big|large/g, 'great']]), 'big and large');
  assert.equal(replaced('AI or A.I.', [[/A\.I\./g, 'AI']]), 'AI or A.I.');
  assert.equal(replaced('b b', [[/b/g, found => `${found}c`]]), 'bc bc');
});
