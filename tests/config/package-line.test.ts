import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { findPackageLine, plainLine } from '../../hub/config/package-line.ts';

/** Parses a command line in which words may be in single quotes, and finds the package in it. */
function read(line: string) {
  const [command = '', ...args] = (line.match(/'[^']*'|\S+/g) ?? []).map(word =>
    word.replaceAll("'", ''),
  );
  const plain = plainLine({ command, args });
  return findPackageLine(plain.command, plain.args);
}

describe('lines that become packages', () => {
  test.for([
    ['npx -y @org/server@1 a -b', '@org/server@1', 'a -b', {}],
    ['npx --yes server', 'server', '', {}],
    ['npx server -y', 'server', '-y', {}],
    ['npx -y -q server', 'server', '', {}],
    ['npx -y -- server --port 1', 'server', '--port 1', {}],
    ['npx -y -p @org/server@1 server a', '@org/server@1', 'a', {}],
    ['npx --package=@org/server -y server', '@org/server', '', {}],
    ['npx --package=@org/server -- server --stdio', '@org/server', '--stdio', {}],
    ['npx -p @org/server another', '@org/server', '', { program: 'another' }],
    ['npx -p a -p b@2 a', 'a', '', { with: ['b@2'] }],
    ['npx -p a -p @x/b@2 b 1', '@x/b@2', '1', { with: ['a'] }],
    ['npx -p a -p b c', 'a', '', { with: ['b'], program: 'c' }],
    ['npm exec --yes --package=@org/server -- run', '@org/server', '', { program: 'run' }],
    ['npm exec @org/server@1', '@org/server@1', '', {}],
    ['pnpm dlx @org/server', '@org/server', '', {}],
    ['pnpm --package=@org/server dlx run', '@org/server', '', { program: 'run' }],
    ['yarn dlx -q -p @org/server run a', '@org/server', 'a', { program: 'run' }],
    ['bunx @org/server', '@org/server', '', {}],
    ['bunx --bun -p @org/server run', '@org/server', '', { program: 'run' }],
    ['bun x @org/server', '@org/server', '', {}],
  ] as const)('%s', ([line, spec, rest, more]) => {
    assert.deepEqual(read(line), expected('npm', spec, rest, more));
  });

  test.for([
    ['uvx server', 'server', '', {}],
    ['uvx server@1.2 --port 1', 'server==1.2', '--port 1', {}],
    ['uvx -q server', 'server', '', {}],
    ['uvx --quiet --isolated --refresh server', 'server', '', {}],
    ['uvx --with extra server', 'server', '', { with: ['extra'] }],
    ['uvx --with=a==1,b --with c server', 'server', '', { with: ['a==1', 'b', 'c'] }],
    [
      "uvx --with 'httpx<1' --with 'mcp[cli,rich]' server",
      'server',
      '',
      { with: ['httpx<1', 'mcp[cli,rich]'] },
    ],
    ['uvx --with x@1.0 server', 'server', '', { with: ['x==1.0'] }],
    ['uvx --from server==1.2 server a', 'server==1.2', 'a', {}],
    ['uvx --from=server server', 'server', '', {}],
    ['uvx --from mcp_server.time mcp-server-time', 'mcp_server.time', '', {}],
    ['uvx --from server another a', 'server', 'a', { program: 'another' }],
    ["uvx --from 'mcp[cli]==1.2' mcp run", 'mcp==1.2', 'run', { with: ['mcp[cli]'] }],
    ['uvx --python 3.12 server', 'server', '', { python: '3.12' }],
    [
      'uvx -p python3.12 --from server another',
      'server',
      '',
      { python: '3.12', program: 'another' },
    ],
    ['uvx --python=cpython@3.12.4 server', 'server', '', { python: '3.12.4' }],
    ['uv tool run server', 'server', '', {}],
    ['uv -q tool run --with extra server', 'server', '', { with: ['extra'] }],
    ['pipx run --spec server==1.0 another', 'server==1.0', '', { program: 'another' }],
    ['/home/me/.local/bin/uvx server', 'server', '', {}],
    ['cmd /c uvx.exe server', 'server', '', {}],
  ] as const)('%s', ([line, spec, rest, more]) => {
    assert.deepEqual(read(line), expected('pypi', spec, rest, more));
  });

  function expected(
    ecosystem: 'npm' | 'pypi',
    spec: string,
    rest: string,
    { program, ...extras }: { program?: string; with?: readonly string[]; python?: string },
  ) {
    return {
      package: { ecosystem, spec, ...extras },
      args: rest === '' ? [] : rest.split(' '),
      ...(program !== undefined && { program }),
    };
  }
});

describe('lines that cannot become packages give the reason and the remedy', () => {
  const registry = /installs only those: no git .*, set "image" to an image .*"runtime": "process"/;
  test.for([
    ['npx', /names no program to run\. Add the name of the package/],
    ['npx -y', /names no program/],
    ['npx -p', /a value is missing after "-p"/],
    ['npx -y github:org/repository', registry],
    ['npx -y ./local', registry],
    ['npx -p git+https://git.example/x x', registry],
    ["npx 'server@^1.0.0'", /Write one version, such as @org\/server@1\.2\.3/],
    ['npx -c server', /the option "-c" of "npx" .*Write the program and its arguments/],
    [
      'npx --registry=http://registry.example server',
      /the option "--registry" of "npx" has no equivalent in an image\. Remove it, set "image"/,
    ],
    ['npx -p a ./b', /"\.\/b" is not the name of a program/],
    ['uvx', /names no program/],
    ['uvx --from', /a value is missing after "--from"/],
    ['uvx --from git+https://git.example/x x', registry],
    ['uvx --with ./local server', registry],
    ['uvx --from ./local x', registry],
    ["uvx 'server>=1.0'", /Write one version, such as name==1\.0/],
    ['uvx --python /usr/bin/python3 server', /"\/usr\/bin\/python3" is not a version/],
    ['uvx --with-requirements r.txt server', /"--with-requirements" .*List each package .* --with/],
    ['uvx --env-file .env server', /Write the variables of that file to "env"/],
    ['uvx --index-url http://index.example server', /the option "--index-url" of "uvx"/],
    ['uv tool run --nonsense server', /the option "--nonsense" of "uvx"/],
  ] as const)('%s', ([line, words]) => {
    const found = read(line);
    assert.ok(found && 'why' in found, JSON.stringify(found));
    assert.match(found.why, words);
  });
});

test.for([
  'node server.js',
  'docker run -i --rm mcp/time',
  'uv run server.py',
  'npm start',
  'yarn x',
])('%s runs no package', line => {
  assert.equal(read(line), undefined);
});

test.each([
  ['npx -y a', 'npx -y a'],
  ['/usr/local/bin/npx a', 'npx a'],
  [String.raw`C:\node\npx.cmd -y a`, 'npx -y a'],
  ['cmd /c npx -y a', 'npx -y a'],
  ['cmd /C NPX -y a', 'npx -y a'],
  ['npm exec a -- -v', 'npx -y a -- -v'],
  ['npm exec -- a -v', 'npx -y a -v'],
  ['npm --yes x a', 'npx -y a'],
  ['pnpm dlx a', 'npx -y a'],
  ['bunx a -y', 'npx -y a -y'],
  ['bun x a', 'npx -y a'],
  ['yarn dlx a', 'npx -y a'],
  ['uv tool run a', 'uvx a'],
  ['pipx run a', 'uvx a'],
  ['podman run a', 'docker run a'],
  ['npm install a', 'npm install a'],
  ['uv run a', 'uv run a'],
  ['cmd /c', 'cmd /c'],
  ['node server.js', 'node server.js'],
])('%s is %s', (line, expected) => {
  const [command = '', ...args] = line.split(' ');
  const plain = plainLine({ command, args });
  assert.equal([plain.command, ...plain.args].join(' '), expected);
});
