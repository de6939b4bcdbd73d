import assert from 'node:assert/strict';
import { test } from 'vitest';
import { freeName, nameOfRegistered, parseSource } from '../../hub/installs/source.ts';

test.each([
  [
    '@modelcontextprotocol/server-memory',
    'package',
    '@modelcontextprotocol/server-memory',
    'memory',
  ],
  ['npm:@upstash/context7-mcp@1.0.0', 'package', '@upstash/context7-mcp@1.0.0', 'context7'],
  ['mcp-server', 'package', 'mcp-server', 'server'],
  ['@playwright/mcp', 'package', '@playwright/mcp', 'playwright'],
  ['@playwright/mcp@0.0.41', 'package', '@playwright/mcp@0.0.41', 'playwright'],
  ['@sentry/mcp-server', 'package', '@sentry/mcp-server', 'sentry'],
  ['@org-mcp/server', 'package', '@org-mcp/server', 'org'],
  ['@notionhq/notion-mcp-server', 'package', '@notionhq/notion-mcp-server', 'notion'],
  ['@upstash/context7-mcp', 'package', '@upstash/context7-mcp', 'context7'],
  ['@shopify/dev-mcp@1.2.0', 'package', '@shopify/dev-mcp@1.2.0', 'shopify-dev'],
  ['@acme/mcp-api-server', 'package', undefined, 'acme-api'],
  ['@acme-mcp/tools', 'package', undefined, 'acme-tools'],
  ['dev-mcp', 'package', 'dev-mcp', 'dev'],
  ['docker:acme/core:1', 'image', undefined, 'acme-core'],
  ['docker:registry.example:5000/api', 'image', undefined, 'api'],
  ['docker:mcp/api', 'image', undefined, 'api'],
  ['docker:mcr.microsoft.com/playwright/mcp:v1', 'image', undefined, 'playwright'],
  ['docker:registry.example:5000/mcp', 'image', undefined, 'mcp'],
  ['uvx:mcp-server-time==1.0', 'package', 'uvx:mcp-server-time==1.0', 'time'],
  ['pypi:mcp_weather', 'package', 'uvx:mcp_weather', 'weather'],
  ['docker:ghcr.io/github/github-mcp-server:v1', 'image', undefined, 'github'],
  ['docker:mcp/time@sha256:00', 'image', undefined, 'time'],
  ['https://mcp.linear.app/mcp', 'url', undefined, 'linear'],
  ['http://localhost:3000/mcp', 'url', undefined, 'localhost'],
  ['http://127.0.0.1:3000/mcp', 'url', undefined, 'remote'],
  ['https://${HOST}/mcp', 'url', undefined, 'variable'],
])('%s is a source of kind %s', (written, kind, key, name) => {
  const source = parseSource(written);
  assert.equal(source.kind, kind);
  assert.equal(source.name, name);
  if (key !== undefined) assert.equal('package' in source && source.package, key);
});

test.each([
  ['com.stripe/mcp', 'stripe'],
  ['io.github.someone/server-name', 'name'],
  ['io.github.someone/mcp-server', 'someone'],
  ['io.github.someone/tools-mcp', 'someone-tools'],
])('the server %s of the registry is called %s', (registered, name) => {
  assert.equal(nameOfRegistered(registered), name);
});

test.each([
  '',
  ' ',
  'mcp/time:latest',
  '--registry=x',
  'git+https://x/y',
  'a b',
  'docker:',
  'ftp://x',
])('%j is refused with the forms that are allowed', written => {
  assert.throws(() => parseSource(written), {
    code: 'HUB_REQUEST_INVALID',
    message: /^package: .*"docker:image:tag"/,
  });
});

test('a name that is in use gets a number, within the maximum length', () => {
  const long = 'a'.repeat(32);
  assert.equal(
    freeName('time', () => false),
    'time',
  );
  assert.equal(
    freeName('time', name => name === 'time'),
    'time-2',
  );
  assert.equal(
    freeName(long, name => name === long),
    `${'a'.repeat(30)}-2`,
  );
  assert.equal(
    freeName('time', () => true),
    undefined,
  );
});

test('a package does not get the name of a built-in server, which rules of the policy may name', () => {
  assert.equal(
    freeName('agents', () => false),
    'agents-2',
  );
});
