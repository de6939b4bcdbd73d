import assert from 'node:assert/strict';
import { test } from 'vitest';
import { oddityOf, oddityOfRemote } from '../../hub/installs/oddities.ts';

const npm = { registryType: 'npm', identifier: 'n', version: '1.0.0' };
const oci = { registryType: 'oci', identifier: 'docker.io/o/n:1.0.0' };
const bind = (value: string) => ({
  ...oci,
  runtimeArguments: [{ type: 'named', name: '-v', value } as const],
});

test.each([
  [npm],
  [{ ...npm, runtimeHint: 'npx' }],
  [{ registryType: 'pypi', identifier: 'n', runtimeHint: 'uvx' }],
  [{ ...oci, runtimeHint: 'docker' }],
  [{ ...oci, identifier: 'o/n', version: '2.0' }],
  [{ ...oci, identifier: `o/n@sha256:${'0'.repeat(64)}` }],
  [bind('{folder}:/data')],
  [{ ...npm, environmentVariables: [{ name: 'A', description: 'two\nlines' }] }],
])('%j is normal', one => {
  assert.equal(oddityOf(one), undefined);
});

test.each([
  [
    { ...npm, runtimeHint: 'docker' },
    /runtimeHint is "docker", which does not run packages of npm/,
  ],
  [{ ...oci, runtimeHint: 'bash' }, /runtimeHint is "bash"/],
  [{ ...npm, identifier: 'n\u0007' }, /its identifier has control characters/],
  [
    { ...npm, environmentVariables: [{ name: 'A', value: 'x\u202ey' }] },
    /environmentVariables\.0\.value/,
  ],
  [
    { ...npm, packageArguments: [{ type: 'positional', value: 'a\nb' } as const] },
    /packageArguments\.0\.value/,
  ],
  [
    bind('/var/run/docker.sock:/var/run/docker.sock'),
    /the folder "\/var\/run\/docker\.sock" of this machine/,
  ],
  [bind('~/.ssh:/ssh'), /the folder "~\/\.ssh"/],
  [bind('$HOME:/home'), /the folder "\$HOME"/],
  [
    {
      ...oci,
      runtimeArguments: [
        { type: 'named', name: '--mount', value: 'type=bind,src=/etc,dst=/etc' } as const,
      ],
    },
    /the folder "\/etc"/,
  ],
  [
    { ...oci, runtimeArguments: [{ type: 'positional', value: '--volume=/etc:/etc' } as const] },
    /the folder "\/etc"/,
  ],
  [{ ...oci, identifier: 'o/n' }, /its image has no version/],
  [{ ...oci, identifier: 'o/n:latest' }, /its image has no version/],
])('%j is unusual, with a reason', (one, reason) => {
  assert.match(oddityOf(one) ?? '', reason);
});

test('the address of a remote server cannot have control characters', () => {
  assert.equal(oddityOfRemote({ type: 'sse', url: 'https://x/sse' }), undefined);
  assert.match(oddityOfRemote({ url: 'https://x/\r\n' }) ?? '', /its url has/);
  assert.match(oddityOfRemote({ variables: { 'a\u0000': {} } }) ?? '', /control characters/);
});

test('a server.json that is nested too deeply is refused', () => {
  let deep: object = {};
  for (let level = 0; level < 30; level++) deep = { deep };
  assert.match(oddityOfRemote(deep) ?? '', /control characters/);
});
