import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Wanted, failure, npm, pypi, step } from './failure.ts';

test.each<[string, Wanted, string, RegExp | undefined]>([
  ['npm', npm, 'npm error code E404', /PyPI has a package of that name: write "package": "other"/],
  [
    'pip',
    pypi,
    'ERROR: x (from versions: none)',
    /npm has a package of that name: write "package": "other"/,
  ],
  ['npm, for another reason', npm, 'npm error code ETARGET', undefined],
])(
  'a package that %s does not have is suggested if the other registry has it',
  async (_, wanted, output, words) => {
    const { message } = await failure(wanted, output, step, async () => 'other');
    if (words) assert.match(message, words);
    else assert.doesNotMatch(message, /of that name/);
  },
);
