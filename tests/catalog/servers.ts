import type { Registered } from '../doubles/mcp-registry.ts';

const meta = (updatedAt: string, more: object = {}) => ({
  'io.modelcontextprotocol.registry/official': {
    status: 'active',
    publishedAt: '2026-01-01T00:00:00Z',
    updatedAt,
    isLatest: true,
  },
  ...more,
});

/** Servers as their publishers describe them. */
export const registered: readonly Registered[] = [
  {
    server: {
      name: 'io.github.someone/postgres-mcp',
      description: 'Reads and writes PostgreSQL.',
      version: '1.0.0',
      packages: [],
    },
    _meta: meta('2026-02-01T00:00:00Z'),
  },
  {
    server: {
      $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
      name: 'io.github.someone/postgres-mcp',
      title: 'PostgreSQL',
      description: 'Reads and writes PostgreSQL.',
      version: '2.0.0',
      websiteUrl: 'https://example.com/postgres',
      repository: { url: 'https://github.com/someone/postgres-mcp', source: 'github' },
      packages: [
        {
          registryType: 'npm',
          registryBaseUrl: 'https://registry.npmjs.org',
          identifier: 'echo',
          version: '1.0.0',
          runtimeHint: 'npx',
          transport: { type: 'stdio' },
          runtimeArguments: [{ type: 'positional', value: '-y' }],
          packageArguments: [
            {
              type: 'named',
              name: '--mode',
              value: '{mode}',
              variables: { mode: { choices: ['ro', 'rw'], default: 'ro' } },
            },
            {
              type: 'positional',
              valueHint: 'database',
              description: 'Its name',
              isRequired: true,
            },
          ],
          environmentVariables: [
            {
              name: 'DATABASE_PASSWORD',
              description: 'Of the user',
              isRequired: true,
              isSecret: true,
            },
            { name: 'LOG_LEVEL', default: 'info', choices: ['info', 'debug'] },
          ],
        },
        {
          registryType: 'oci',
          identifier: 'docker.io/someone/postgres-mcp:2.0.0',
          runtimeHint: 'docker',
          transport: { type: 'stdio' },
          runtimeArguments: [{ type: 'named', name: '--privileged' }],
        },
      ],
      remotes: [
        {
          type: 'streamable-http',
          url: 'https://{tenant}.example.com/mcp',
          variables: { tenant: { description: 'Yours', isRequired: true } },
          headers: [
            {
              name: 'Authorization',
              value: 'Bearer {token}',
              isSecret: true,
              variables: { token: { isSecret: true, isRequired: true } },
            },
          ],
        },
      ],
    },
    _meta: meta('2026-03-01T00:00:00Z', { 'com.example/numbers': { stargazers_count: 42 } }),
  },
  {
    server: {
      name: 'com.example/tickets',
      description: 'Tickets of a postgres\u202e shop.\u0007',
      version: '0.1.0',
      remotes: [{ type: 'sse', url: 'https://tickets.example.com/sse' }],
    },
    _meta: {
      'io.modelcontextprotocol.registry/official': {
        status: 'deprecated',
        statusMessage: 'Use tickets-2.',
        updatedAt: '2026-03-01T00:00:00Z',
      },
    },
  },
  {
    server: {
      name: 'com.example/files',
      description: 'Files.',
      version: '1.0.0',
      packages: [
        {
          registryType: 'pypi',
          identifier: 'mcp-files',
          version: '1.0',
          transport: { type: 'stdio' },
        },
      ],
    },
  },
];
