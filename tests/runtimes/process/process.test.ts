import assert from 'node:assert/strict';
import { test } from 'vitest';
import { environmentOf, onWindows } from '../../../hub/runtimes/process/process.ts';

const environment = {
  Path: 'C:\\Windows;C:\\Program Files\\nodejs',
  PATHEXT: '.COM;.EXE;.BAT;.CMD',
  ComSpec: 'C:\\Windows\\system32\\cmd.exe',
};
const files = ['C:\\Program Files\\nodejs\\npx.CMD', 'C:\\Program Files\\nodejs\\node.EXE'];
const isFile = (file: string) => files.includes(file);

test('starts a program by its full name, without cmd.exe', () => {
  assert.deepEqual(onWindows('node', ['a b', 'c&d'], environment, isFile), {
    command: 'C:\\Program Files\\nodejs\\node.EXE',
    args: ['a b', 'c&d'],
    verbatim: false,
  });
});

test('starts a batch file through cmd.exe, and keeps every argument one argument', () => {
  assert.deepEqual(onWindows('npx', ['-y', 'a&b', 'say "hi"', 'C:\\x\\'], environment, isFile), {
    command: 'C:\\Windows\\system32\\cmd.exe',
    args: [
      '/d',
      '/s',
      '/c',
      '"C:\\Program^ Files\\nodejs\\npx.CMD ^"-y^" ^"a^&b^" ^"say^ \\^"hi\\^"^" ^"C:\\x\\\\^""',
    ],
    verbatim: true,
  });
});

test('passes a command that is not found to the system, which refuses it', () => {
  assert.equal(onWindows('uvx', [], environment, isFile).command, 'uvx');
});

test('passes on the variables that Windows needs, and treats Path and PATH as one name', () => {
  assert.deepEqual(
    environmentOf(
      { Path: 'C:\\Windows', SystemRoot: 'C:\\Windows', GITHUB_TOKEN: 'secret', TEMP: undefined },
      { PATH: 'D:\\tools' },
      'win32',
    ),
    { SystemRoot: 'C:\\Windows', PATH: 'D:\\tools' },
  );
});
