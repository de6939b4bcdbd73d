import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { imageOf } from '../../../../hub/runtimes/docker/image/package-image.ts';

const context = Buffer.from('FROM scratch');

describe('the image of a package', () => {
  for (const [ecosystem, spec, expected] of [
    [
      'npm',
      '@modelcontextprotocol/server-memory@2026.8.31',
      /^agenthub\/npm-modelcontextprotocol-server-memory:2026\.8\.31-[0-9a-f]{12}$/,
    ],
    ['npm', 'mcp-thing', /^agenthub\/npm-mcp-thing:latest-[0-9a-f]{12}$/],
    ['npm', 'Weird..Name@^1.2.0-rc.1+x', /^agenthub\/npm-weird-name:1\.2\.0-rc\.1-x-[0-9a-f]{12}$/],
    ['pypi', 'mcp-server-time==2026.10.19', /^agenthub\/python-mcp-server-time:2026\.10\.19-/],
    ['pypi', 'mcp_server[cli]>=1,<2', /^agenthub\/python-mcp-server-cli:1-2-[0-9a-f]{12}$/],
  ] as const)
    test(`of ${spec} has a tag with its contents`, () => {
      const { tag, package: given, labels } = imageOf({ ecosystem, spec }, context);
      assert.match(tag, expected);
      assert.equal(given, spec);
      assert.deepEqual(labels, {
        'io.agenthub.managed': 'true',
        'io.agenthub.base': ecosystem === 'npm' ? 'npm' : 'python',
        'io.agenthub.package': spec,
      });
    });

  test('changes with its files and with the spec, and with nothing else', () => {
    const of = (spec: string, files = context) => imageOf({ ecosystem: 'npm', spec }, files).tag;
    assert.equal(of('a@1'), of('a@1'));
    assert.notEqual(of('a@1'), of('a@1', Buffer.from('FROM other')));
    assert.notEqual(of('a.b@1'), of('a-b@1'), 'names that look alike in a tag are told apart');
  });

  for (const [ecosystem, spec] of [
    ['npm', ''],
    ['npm', '--registry=http://evil'],
    ['npm', 'file:../secret'],
    ['npm', 'git+https://example.org/x.git'],
    ['npm', 'a b'],
    ['npm', 'a@1; rm -rf /'],
    ['npm', '../a'],
    ['pypi', '-r requirements.txt'],
    ['pypi', 'a @ https://example.org/a.whl'],
    ['pypi', 'a==1 --index-url=http://evil'],
    ['pypi', './a'],
  ] as const)
    test(`"${spec}" is not a package of ${ecosystem}`, () => {
      assert.throws(
        () => imageOf({ ecosystem, spec }, context),
        (error: unknown) =>
          error instanceof HubError &&
          error.code === 'HUB_LAUNCH_INVALID' &&
          error.message.includes(`"${spec}" is not a package of ${ecosystem}. Write`),
      );
    });
});
