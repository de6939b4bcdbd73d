import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { sandboxOf } from '../../hub/config/sandbox.ts';
import { draftOf } from './entry-draft.ts';

async function sandboxFor(entry: object, more: Parameters<typeof draftOf>[1] = {}) {
  const { draft, problems } = draftOf({ image: 'a:1', ...entry }, more);
  return { ...(await sandboxOf(draft)), problems };
}

describe('mounts', () => {
  test.for([
    ['docs:/docs', '/project/docs', '/docs', true],
    ['docs:/docs:ro', '/project/docs', '/docs', true],
    ['docs:/docs:rw', '/project/docs', '/docs', false],
    ['~/a:b:/docs/', '/home/me/a:b', '/docs', true],
    [{ source: '/srv', target: '/srv' }, '/srv', '/srv', true],
    [{ source: '/srv', target: '/a/../b', read_only: false }, '/srv', '/b', false],
  ] as const)('%j', async ([mount, source, target, readOnly]) => {
    const { mounts, problems } = await sandboxFor({ mounts: [mount] });
    assert.deepEqual([mounts, problems], [[{ source, target, readOnly }], []]);
  });

  test.for([
    ['docs', 'mounts[0]: write "source:target", "source:target:ro" or "source:target:rw"'],
    ['docs:relative', /^mounts\[0\]: write "source:target"/],
    ['docs:/x:rx', /^mounts\[0\]: write "source:target"/],
    ['docs:/proc/x', /^mounts\[0\]: write an absolute path in the container/],
    ['../x:/x', /^mounts\[0\]: it leaves its folder/],
    [{ source: '', target: '/x' }, 'mounts[0].source: write the path of a file or folder'],
    [
      { source: '/x', target: '/' },
      /^mounts\[0\]\.target: write an absolute path in the container/,
    ],
  ] as const)('%j is reported, and not mounted', async ([mount, message]) => {
    const { mounts, problems } = await sandboxFor({ mounts: [mount] });
    const [problem = '', ...others] = problems;
    assert.deepEqual([mounts, others], [[], []]);
    if (typeof message === 'string') assert.equal(problem, message);
    else assert.match(problem, message);
  });

  test('are passed to the guard as written, and left out if it refuses', async () => {
    const asked = new Map<string, unknown>();
    const { mounts, problems } = await sandboxFor(
      { mounts: ['/keys:/keys:rw', '/free:/free'], allow_sensitive: true },
      {
        async guard({ written }, how) {
          // A map, because both paths are resolved concurrently and arrive in any order.
          asked.set(written, how);
          return written === '/keys' ? 'it has keys' : undefined;
        },
      },
    );
    assert.deepEqual(Object.fromEntries(asked), {
      '/keys': { readOnly: false, allowSensitive: true },
      '/free': { readOnly: true, allowSensitive: true },
    });
    assert.deepEqual(problems, ['mounts[0]: it has keys']);
    assert.deepEqual(
      mounts.map(({ source }) => source),
      ['/free'],
    );
  });
});

describe('volumes', () => {
  test.for([[{ data: '/data/' }], [[{ name: 'data', target: '/data' }]]])(
    'may be written as %j',
    async ([volumes]) => {
      const sandbox = await sandboxFor({ volumes });
      assert.deepEqual(sandbox.volumes, [{ name: 'data', target: '/data' }]);
    },
  );

  test('must have targets that are not used twice', async () => {
    const { problems } = await sandboxFor({
      mounts: ['/a:/x', '/b:/x/'],
      volumes: { one: '/y', two: '/x/../x', three: '/sys' },
    });
    assert.deepEqual(
      problems.map(problem => problem.replace(/ a second time.*/, '')),
      [
        'volumes.three: write an absolute path in the container that is not "/" and not in /proc, /sys or /dev',
        'mounts[1]: uses the target "/x"',
        'volumes.two: uses the target "/x"',
      ],
    );
  });
});

test.for([
  ['6m', true],
  ['5.9m', false],
  [6_291_456, true],
  [6_291_455, false],
  ['8191t', true],
  ['8192t', false],
] as const)('%s of memory is allowed: %s', async ([memory, isAllowed]) => {
  const { problems } = await sandboxFor({ resources: { memory } });
  assert.equal(problems.length === 0, isAllowed, problems.join());
});

test.for([
  [1000, '1000'],
  ['1000:1000', '1000:1000'],
  [undefined, undefined],
] as const)('the user %j is %s', async ([user, expected]) => {
  assert.equal((await sandboxFor(user === undefined ? {} : { user })).user, expected);
});
