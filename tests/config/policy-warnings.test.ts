import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { PolicyRule } from '#config';
import { configOf } from '#helpers/hub';
import { policyWarnings } from '../../hub/config/policy-warnings.ts';

const warnings = (...policy: readonly PolicyRule[]) => [
  ...policyWarnings(
    {
      servers: [configOf({ name: 'files' })],
      naming: { separator: '_', maxLength: 46 },
      clients: [{ name: 'cursor', administer: false }],
      policy,
    },
    ['agenthub'],
  ),
];

test('rules that can match cause no warning', () => {
  assert.deepEqual(
    warnings(
      { clients: ['cursor', 'owner', 'agent:ada', 'c*'], action: 'deny' },
      { servers: ['files', 'agenthub', 'x*'], action: 'deny' },
      { tools: ['files_read', 'agenthub_list_servers', '*_write'], action: 'deny' },
      { resources: ['x:y'], prompts: ['z'], methods: ['tools/call'], action: 'allow' },
    ),
    [],
  );
});

test('unknown names cause a warning with the place and a similar name', () => {
  const [server, client, tool, ...rest] = warnings(
    { servers: ['file'], action: 'deny' },
    { clients: ['cursr'], action: 'deny' },
    { tools: ['write_file'], action: 'deny' },
  );
  assert.equal(server, 'policy[0].servers: no server is called "file". Did you mean "files"?');
  assert.match(
    client ?? '',
    /^policy\[1\]\.clients: "cursr" is not in "clients"\. Did you mean "cursor"\?/,
  );
  assert.match(tool ?? '', /^policy\[2\]\.tools: "write_file" is a tool of no server\./);
  assert.deepEqual(rest, []);
});

test('names of clients for which the hub made a token cause no warning', () => {
  const config = {
    servers: [],
    naming: { separator: '_', maxLength: 46 },
    policy: [{ clients: ['zed', 'zedd'], action: 'deny' }],
  } as const;
  const [warning, ...rest] = policyWarnings(config, [], ['zed']);
  assert.match(warning ?? '', /"zedd" is not in "clients"\. Did you mean "zed"\?/);
  assert.deepEqual(rest, []);
});

test('rules after one that matches everything cause a warning', () => {
  const [warning, ...rest] = warnings(
    { servers: ['files'], action: 'allow' },
    { clients: ['*'], action: 'deny' },
    { tools: ['files_x'], action: 'allow' },
  );
  assert.match(warning ?? '', /^policy\[1\] matches everything/);
  assert.deepEqual(rest, []);
});

test('a pattern for the tools of one server that matches those of another is warned of', () => {
  const config = {
    servers: ['files', 'files_old', 'files2'].map(name => configOf({ name })),
    naming: { separator: '_', maxLength: 46 },
    policy: [
      { tools: ['files_*', 'files2_*', 'files_r*', 'files*'], action: 'allow' },
      { tools: ['files_*'], servers: ['files'], action: 'allow' },
      { tools: ['files_*', 'files_old_*'], action: 'allow' },
      { tools: ['*'], action: 'deny' },
    ],
  } as const;
  assert.deepEqual(
    [...policyWarnings(config, ['agenthub'])],
    [
      'policy[0].tools: "files_*" matches the tools of files_old too. Add "servers": "files" to the rule, or name all servers that it is for',
    ],
  );
  assert.deepEqual(
    [...policyWarnings({ ...config, naming: { separator: '__', maxLength: 46 } }, [])].filter(one =>
      one.includes(' too. '),
    ),
    [],
  );
});

test('a pattern for the tools of one server is not warned of if an earlier rule decides about those of another', () => {
  const overlaps = (earlier: Partial<PolicyRule>, clients: readonly string[]) => {
    const config = {
      servers: ['files', 'files_old'].map(name => configOf({ name })),
      naming: { separator: '_', maxLength: 46 },
      policy: [
        { ...earlier, action: 'deny' },
        { tools: ['files_*'], clients, action: 'allow' },
      ],
    } as const;
    return [...policyWarnings(config, [])].filter(one => one.includes(' too. ')).length > 0;
  };
  const clients = ['local'];
  assert.equal(overlaps({ tools: ['files_old_*'] }, clients), false);
  assert.equal(overlaps({ servers: ['files_old'] }, clients), false);
  assert.equal(overlaps({ tools: ['files_old_*'], clients }, clients), false);
  assert.equal(overlaps({ tools: ['files_old_*'], clients }, ['owner']), true);
  assert.equal(overlaps({ tools: ['files_old_x'] }, clients), true);
  assert.equal(overlaps({ servers: ['files_old'], resources: ['*'] }, clients), true);
  assert.equal(overlaps({ servers: ['files'], tools: ['files_old_*'] }, clients), true);
  const annotations = { readOnlyHint: true };
  assert.equal(overlaps({ tools: ['files_old_*'], annotations }, clients), true);
});

test('unknown servers, tags and tools of profiles cause a warning', () => {
  const profile = { name: 'work', hiddenTools: [] };
  const warningsFor = (lists: object) => [
    ...policyWarnings(
      {
        servers: [configOf({ name: 'files', tags: ['disk'] })],
        naming: { separator: '_', maxLength: 46 },
        profiles: [{ ...profile, tags: [], servers: [], tools: [], ...lists }],
      },
      ['agenthub'],
    ),
  ];
  const right = { tags: ['disk'], servers: ['files', 'agenthub', 'x*'], tools: ['files_read'] };
  assert.deepEqual(warningsFor(right), []);
  assert.deepEqual(
    warningsFor({ tags: ['disc'], servers: ['file'], tools: ['read'], hiddenTools: ['write'] }),
    [
      'profiles.work.tags: no server has the tag "disc". Did you mean "disk"?',
      'profiles.work.servers: no server is called "file". Did you mean "files"?',
      'profiles.work.tools: "read" is a tool of no server. On /mcp tools are called "<server>_<tool>"',
      'profiles.work.tools: "write" is a tool of no server. On /mcp tools are called "<server>_<tool>"',
    ],
  );
});

test('a fan-out tool may be named like any other tool', () => {
  const profile = { name: 'work', tags: [], servers: [], tools: [], hiddenTools: [] };
  const config = {
    servers: [configOf({ name: 'files' })],
    naming: { separator: '_', maxLength: 46 },
    fanOut: [{ name: 'all', tools: ['files_read'], merge: 'concat', timeoutMs: 30_000 }],
    policy: [{ tools: ['all'], action: 'deny' }],
    profiles: [{ ...profile, find: { pinned: ['all'] } }],
  } as const;
  assert.deepEqual([...policyWarnings(config, ['agenthub'])], []);
});

test('patterns and fan-out tools with the separator of another naming are warned of', () => {
  const config = {
    servers: [configOf({ name: 'files' })],
    naming: { separator: '.', maxLength: 46 },
    fanOut: [
      { name: 'all', tools: ['files_read', 'files.find'], merge: 'concat', timeoutMs: 30_000 },
    ],
    policy: [{ tools: ['files_*', 'files.*', 'fi*', '*_read', 'other_*'], action: 'deny' }],
  } as const;
  assert.deepEqual(
    [...policyWarnings(config, ['agenthub'])],
    [
      'policy[0].tools: "files_*" is a tool of no server. On /mcp tools are called "<server>.<tool>"',
      'fan_out.all.tools: "files_read" is a tool of no server. On /mcp tools are called "<server>.<tool>"',
    ],
  );
});

test('names that were cut, and patterns of them, cause no warning', () => {
  // The names of the tools as clients see them, and patterns that match them.
  const tools = ['filesyst_0ab12cd', 'filesyst_*', 'filesyst_0*', 'files*'];
  const config = {
    servers: [configOf({ name: 'filesystem' }), configOf({ name: 'filesyst' })],
    naming: { separator: '__', maxLength: 16 },
    policy: [{ tools: [...tools, 'filesyst_read'], action: 'deny' }],
  } as const;
  assert.deepEqual(
    [...policyWarnings(config, ['agenthub'])],
    [
      'policy[0].tools: "filesyst_read" is a tool of no server. On /mcp tools are called "<server>__<tool>"',
    ],
  );
});
