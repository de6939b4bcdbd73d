import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { endpointPathOf, resourceMetadata, serverMetadata } from '#access';

describe('the metadata of logins', () => {
  test.each([
    ['http://127.0.0.1:9090', 'http://localhost:9090'],
    ['http://[::1]:9090', 'http://localhost:9090'],
    ['http://localhost', 'http://localhost'],
    ['https://hub.home.lan', 'https://hub.home.lan'],
    ['http://127.0.0.2:1', 'http://127.0.0.2:1'],
  ])('of %s sends browsers to %s, where their session is', (origin, browser) => {
    const metadata = serverMetadata(origin);
    assert.equal(metadata.issuer, origin);
    assert.equal(metadata.authorization_endpoint, `${browser}/dashboard/authorize`);
    assert.equal(metadata.token_endpoint, `${origin}/oauth/token`);
    assert.deepEqual(resourceMetadata(origin, '/mcp/echo'), {
      resource: `${origin}/mcp/echo`,
      authorization_servers: [origin],
      bearer_methods_supported: ['header'],
      resource_name: 'AgentHub',
    });
  });

  test.each([
    ['/mcp', '/mcp'],
    ['/mcp?a', '/mcp'],
    ['/mcp/echo', '/mcp/echo'],
    ['/mcp/echo/tools/call', '/mcp/echo'],
    ['/mcp/@work/tools/list', '/mcp/@work'],
    ['/sse', '/sse'],
    ['/sse/echo?a', '/sse/echo'],
    ['/mcpx', undefined],
    ['/messages?sessionId=1', undefined],
    ['/mcp/"evil', '/mcp'],
    ['/servers', undefined],
  ])('of the path %s is that of the endpoint %s', (path, endpoint) => {
    assert.equal(endpointPathOf(path), endpoint);
  });
});
