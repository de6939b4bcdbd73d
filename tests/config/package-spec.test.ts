import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { pathsOfKnownPackage } from '#config';
import { findPackage, isImage } from '../../hub/config/package-spec.ts';

describe('the package key', () => {
  test.for([
    ['server', 'npm', 'server'],
    ['server@1.2.3', 'npm', 'server@1.2.3'],
    ['@org/server', 'npm', '@org/server'],
    ['@org/server@latest', 'npm', '@org/server@latest'],
    ['@org/server@1.0.0-beta.1+build', 'npm', '@org/server@1.0.0-beta.1+build'],
    ['uvx:mcp-server-time', 'pypi', 'mcp-server-time'],
    ['uvx:mcp_server.time==1.2.0', 'pypi', 'mcp_server.time==1.2.0'],
    ['uvx:mcp-server-time@1.2.0', 'pypi', 'mcp-server-time==1.2.0'],
    ['uvx:mcp-server-time==1!2.0', 'pypi', 'mcp-server-time==1!2.0'],
    ['uvx:mcp-server-time@latest', 'pypi', 'mcp-server-time'],
  ] as const)('%s is of %s: %s', ([written, ecosystem, spec]) => {
    assert.deepEqual(findPackage(written), { kind: 'package', package: { ecosystem, spec } });
  });

  test('docker: names an image', () => {
    assert.deepEqual(findPackage('docker:mcp/time:1.0'), { kind: 'image', image: 'mcp/time:1.0' });
    assert.equal(findPackage('docker:--privileged'), undefined);
  });

  test.for([
    '',
    '-g',
    '--registry=http://evil.example',
    '.',
    './local',
    '../local',
    '/tmp/local',
    '~/local',
    'org/repository',
    'github:org/repository',
    'git+ssh://git@git.example/x.git',
    'https://evil.example/x.tgz',
    'file:x',
    'x.tgz',
    'x@y.tar.gz',
    'x@npm:y',
    'x@file:y',
    'x@>=1',
    'x@^1.0.0',
    'x@1 y',
    'x;rm -rf /',
    'x$(id)',
    'x`id`',
    'x\ny',
    'x@1\n',
    'a b',
    '@org',
    '@/x',
    'uvx:',
    'uvx:-r',
    'uvx:--index-url=http://evil.example',
    'uvx:./x',
    'uvx:x @ https://evil.example/x.whl',
    'uvx:git+https://git.example/x',
    'uvx:x[extra]',
    'uvx:x>=1',
    'uvx:x==1;python_version<"3"',
    'uvx:x.whl',
    'uvx:x-',
    'uvx:x==!1',
    'x@1!2.0',
    `x${'y'.repeat(300)}`,
  ])('%j is not a package', written => {
    assert.equal(findPackage(written), undefined);
  });
});

test.for([
  ['alpine', true],
  ['alpine:3.20', true],
  ['mcp/time', true],
  ['registry.example:5000/team/server:1.0', true],
  [`alpine@sha256:${'a'.repeat(64)}`, true],
  ['alpine:3.20 --privileged', false],
  ['-v', false],
  ['', false],
  ['alpine@sha256:short', false],
  ['a//b', false],
] as const)('%j is an image: %s', ([text, expected]) => {
  assert.equal(isImage(text), expected);
});

const memory = { ecosystem: 'npm', spec: '@modelcontextprotocol/server-memory@2026.8.31' } as const;

test('server-memory writes to a volume of its own in a container', () => {
  assert.deepEqual(pathsOfKnownPackage(memory, { kind: 'docker', server: 'notes' }), {
    env: { MEMORY_FILE_PATH: '/data/memory.jsonl' },
    volumes: [{ name: 'notes-data', target: '/data' }],
  });
});

test('server-memory writes to the data folder as a process', () => {
  assert.deepEqual(pathsOfKnownPackage(memory, { kind: 'process', dataDir: '/hub/data/notes' }), {
    env: { MEMORY_FILE_PATH: '/hub/data/notes/memory.jsonl' },
    volumes: [],
  });
});

test.for([
  { ecosystem: 'npm', spec: '@modelcontextprotocol/server-memory-two' },
  { ecosystem: 'pypi', spec: 'server-memory' },
] as const)('$spec needs no volume', source => {
  assert.deepEqual(pathsOfKnownPackage(source, { kind: 'docker', server: 'x' }), {
    env: {},
    volumes: [],
  });
});
