import assert from 'node:assert/strict';
import { test } from 'vitest';
import { systemPackageName } from '../../hub/config/needs-schema.ts';

test.for(['git', 'ffmpeg', 'g++', 'libssl3', 'python3.13', '7zip', 'libstdc++6'])(
  '%s is the name of a Debian package',
  name => assert.ok(systemPackageName.safeParse(name).success),
);

// To apt-get, `name-` is a removal, `name=1` a version, `name/suite` and `name:arch` select another package, and the
// other texts are options, patterns or files.
test.for([
  '',
  'a',
  'Git',
  'git-',
  'git=1',
  'git/sid',
  'git:i386',
  '-y',
  '+git',
  'git jq',
  'git*',
  './a.deb',
  'a;b',
  'git\n',
  'x'.repeat(101),
])('%j is not the name of a Debian package', name =>
  assert.ok(!systemPackageName.safeParse(name).success),
);
