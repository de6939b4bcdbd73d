import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { startFailure } from '../../hub/servers/failures.ts';
import { findMissing } from '../../hub/servers/missing-programs.ts';

// Output of these programs, in images that lack the program they call.
test.for<[string, string, string | undefined]>([
  ['sh: 1: git: not found', 'git', 'git'],
  ['/bin/sh: 1: exec: psql: not found', '', undefined],
  ['bash: line 1: ffmpeg: command not found', 'ffmpeg', 'ffmpeg'],
  ["/usr/bin/env: 'python3': No such file or directory", 'python3', 'python3'],
  ['Error: spawn git ENOENT', 'git', 'git'],
  ['Error: spawn /usr/bin/pdftotext ENOENT', 'pdftotext', 'poppler-utils'],
  ["FileNotFoundError: [Errno 2] No such file or directory: 'pandoc'", 'pandoc', 'pandoc'],
  ["git.exc.GitCommandNotFound: Cmd('git') not found due to: x", 'git', 'git'],
  ['ImportError: Bad git executable.', 'git', 'git'],
  [
    'python: error while loading shared libraries: libpq.so.5: cannot open shared object file',
    'libpq.so.5',
    'libpq5',
  ],
  [
    "Error: browserType.launch: Executable doesn't exist at /home/x/chrome-linux/chrome",
    'chrome',
    'chromium',
  ],
  [
    "Error: Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome",
    'Chromium',
    'chromium',
  ],
  [
    "Couldn't find a valid ICU package installed on the system. Please install libicu (or icu-libs)",
    'ICU',
    'libicu-dev',
  ],
  ['sh: 1: my-tool: not found', 'my-tool', undefined],
])('%s', ([line, name, systemPackage]) => {
  const found = findMissing(`Starting\n${line}\nnode:events:486`);
  if (name === '') assert.equal(found, undefined);
  else assert.deepEqual(found, { name, ...(systemPackage !== undefined && { systemPackage }) });
});

test.for([
  'the file config.json was not found',
  "FileNotFoundError: [Errno 2] No such file or directory: '/data/db.sqlite'",
  '404: page not found',
  'Error: connect ENOENT /run/x.sock',
])('%s does not report a missing program', line => assert.equal(findMissing(line), undefined));

describe('a start that fails for want of a program', () => {
  const failed = new HubError('HUB_SERVER_DOWN', 'one is gone: exited with code 1');

  test('names the package that contains it', () => {
    const error = startFailure('one', failed, 'sh: 1: ffprobe: not found');
    assert.ok(error instanceof HubError);
    assert.match(error.message, /It does not find ffprobe. Add "system_packages": \["ffmpeg"\]/);
    assert.deepEqual(error.data['system_packages'], ['ffmpeg']);
  });

  test('suggests no package for an unknown program', () => {
    const error = startFailure('one', failed, 'sh: 1: my-tool: not found');
    assert.ok(error instanceof HubError);
    assert.match(error.message, /does not find my-tool. If a Debian package has it/);
    assert.equal(error.data['system_packages'], undefined);
  });
});
