import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'vitest';
import { packFiles } from '../../hub/contexts/tar.ts';

const list = (archive: Buffer) =>
  execFileSync('tar', ['-tvf', '-'], { input: archive, encoding: 'utf8' }).trimEnd().split('\n');

test('tar reads what was packed: folders, modes, links and long paths', () => {
  const long = `${'d'.repeat(120)}/${'f'.repeat(90)}`;
  const lines = list(
    packFiles([
      { path: 'a/ü.txt', content: Buffer.from('one') },
      { path: 'a/run', content: Buffer.alloc(513), isExecutable: true },
      { path: 'a/link', content: Buffer.alloc(0), link: '../b' },
      { path: long, content: Buffer.alloc(0) },
    ]),
  );
  assert.match(lines[0] ?? '', /^-rw-r--r-- 0\/0 +3 /);
  assert.match(lines[1] ?? '', /^-rwxr-xr-x 0\/0 +513 .* a\/run$/);
  assert.match(lines[2] ?? '', /^lrw.* a\/link -> \.\.\/b$/);
  assert.ok(lines[3]?.endsWith(long));
});

test('a path or a link that is too long for the format is refused', () => {
  const content = Buffer.alloc(0);
  assert.throws(() => packFiles([{ path: 'x'.repeat(101), content }]), RangeError);
  assert.throws(() => packFiles([{ path: `${'x/'.repeat(150)}y`, content }]), RangeError);
  assert.throws(() => packFiles([{ path: 'x', content, link: 'y'.repeat(101) }]), RangeError);
});
