import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { buildEntryOf } from '../../hub/clients/local-project.ts';

const files = new Set([
  '/p/py/pyproject.toml',
  '/p/py/server.py',
  '/p/py/src/app/main.py',
  '/p/js/package.json',
  '/p/js/build/index.js',
  '/p/image/Dockerfile',
  '/p/image/run.py',
  '/p/bare/x.py',
]);

const built = async (command: string, args: readonly string[], base?: string) =>
  await buildEntryOf(
    { command, args, env: { A: 'b' }, cwd: '/p/py' },
    {
      base,
      find: async path =>
        files.has(path) ? { isFolder: false, uid: 0, gid: 0, mode: 0o644 } : undefined,
    },
  );

const python = '/app/.venv/bin/python';

describe('a project of this machine is built:', () => {
  test.for([
    ['uv --directory /p/py run server.py --x', '/p/py', python, ['server.py', '--x']],
    ['/opt/bin/uv run --directory=/p/py --with mcp -q app', '/p/py', '/app/.venv/bin/app', []],
    ['uv --project /p/py run python -u -m app', '/p/py', python, ['-m', 'app']],
    ['python3 /p/py/src/app/main.py', '/p/py', python, ['src/app/main.py']],
    ['python3.12 -u /p/py/server.py a', '/p/py', python, ['server.py', 'a']],
    ['node /p/js/build/index.js --y', '/p/js', 'node', ['build/index.js', '--y']],
    ['python /p/image/run.py a', '/p/image', undefined, ['a']],
  ] as const)('%s', async ([line, build, command, args]) => {
    const [program = '', ...words] = line.split(' ');
    assert.deepEqual(await built(program, words), {
      entry: { build, ...(command !== undefined && { command }), args, env: { A: 'b' } },
    });
  });

  test('in the folder of the client, if that is known', async () => {
    const entry = { build: '/p/py', command: python, args: ['server.py'], env: { A: 'b' } };
    assert.deepEqual(await built('uv', ['run', 'server.py'], '/p/py'), { entry });
    assert.deepEqual(await built('python', ['py/server.py'], '/p'), { entry });
  });
});

test.for([
  ['uv run server.py', /only the client knows|is not there on this machine/],
  ['python /p/none.py', /"\/p\/none\.py", which is not there/],
  ['python /p/bare/x.py', /no folder around \/p\/bare\/x\.py has a Dockerfile or pyproject\.toml/],
  ['uv --directory /p/js run x', /\/p\/js does not have a Dockerfile or pyproject\.toml/],
] as const)('%s cannot be built, with the reason', async ([line, why]) => {
  const [program = '', ...words] = line.split(' ');
  const found = await built(program, words);
  assert.match(found && 'why' in found ? found.why : '', why);
});

test.for(['node', 'node --eval x', 'uv pip install x', 'uv run --script x', 'python', 'ruby x.rb'])(
  '%s is not a project',
  async line => {
    const [program = '', ...words] = line.split(' ');
    assert.equal(await built(program, words), undefined);
  },
);
