import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

/** Rooms of the hub by floor. A room may import only rooms on lower floors. */
const floors: readonly (readonly string[])[] = [
  ['core'],
  ['contexts', 'jsonrpc', 'redis'],
  [
    'activity',
    'audit',
    'broker',
    'cache',
    'config',
    'jobs',
    'logs',
    'mcp',
    'models',
    'oauth',
    'policy',
    'resilience',
    'secrets',
    'store',
    'telemetry',
    'tokens',
    'vectors',
  ],
  ['access', 'approvals', 'clients', 'definitions', 'runtimes', 'toolsearch', 'upstream'],
  ['repositories', 'runtimes/docker', 'runtimes/process', 'runtimes/remote', 'servers'],
  ['installs'],
  ['catalog', 'enhance', 'documentation', 'routing'],
  ['agents', 'tools'],
  ['tasks'],
  ['builtin'],
  ['connector', 'dashboard', 'transports'],
  ['cli', 'http'],
];

/** Packages that only some rooms may use, so that replacing one stays a change to one room. */
const keptTo: Readonly<Record<string, readonly string[]>> = {
  '@modelcontextprotocol/client': ['oauth'],
  '@napi-rs/keyring': ['secrets'],
  '@vscode/tree-sitter-wasm': ['documentation'],
  '@qdrant/js-client-rest': ['vectors'],
  ...Object.fromEntries(
    Object.keys(manifest.dependencies)
      .filter(name => name.startsWith('@opentelemetry/'))
      .map(name => [name, ['telemetry']] as const),
  ),
  dockerode: ['runtimes/docker'],
  fastify: ['http'],
  'gpt-tokenizer': ['tokens'],
  'htmx.org': ['dashboard'],
  ioredis: ['redis'],
  'jsonc-parser': ['config'],
  'lru-cache': ['cache'],
  ollama: ['models'],
  pino: ['telemetry'],
  'pino-pretty': ['telemetry'],
  'smol-toml': ['clients'],
  ws: ['connector', 'transports'],
  yaml: ['config'],
  zod: [
    'agents',
    'broker',
    'builtin',
    'clients',
    'config',
    'documentation',
    'installs',
    'jobs',
    'oauth',
    'repositories',
    'secrets',
    'servers',
    'tasks',
  ],
};

const floorOf = new Map(
  floors.flatMap((rooms, floor) => rooms.map(room => [room, floor] as const)),
);

/** Returns the room of a file: the longest room name that its path begins with. */
function roomOf(file: string): string {
  const inside = [...floorOf.keys()].filter(room => file.startsWith(`hub/${room}/`));
  return inside.sort((a, b) => b.length - a.length)[0] ?? '';
}

function importsOf(file: string): readonly string[] {
  const statement =
    /^(?:import|export)\s[^'";]*?from\s+'([^']+)'|^import\s+'([^']+)'|import\('([^']+)'\)/gm;
  return [...readFileSync(file, 'utf8').matchAll(statement)].map(found => found.slice(1).join(''));
}

/** Returns the package that an import names, without the path inside it. */
function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

/** True if `file` imports itself through relative imports. */
function circle(file: string, from = file, seen = new Set<string>()): boolean {
  return importsOf(from)
    .filter(name => name.startsWith('.'))
    .map(name => join(dirname(from), name))
    .some(next => next === file || (!seen.has(next) && circle(file, next, seen.add(next))));
}

/** All files except the composition root `hub/app`, the only place that names drivers. */
const roomFiles = 'hub/!(app)/**/*.ts';

for (const file of globSync(roomFiles).sort()) {
  test(file, async ({ annotate }) => {
    const room = roomOf(file);
    const floor = floorOf.get(room);
    assert.ok(floor !== undefined, 'stands in no room: put its room on the plan');
    for (const name of importsOf(file)) {
      if (name.startsWith('.')) {
        assert.equal(
          roomOf(join(dirname(file), name)),
          room,
          `${name} goes through a wall; use the door, #room`,
        );
        assert.ok(
          !name.endsWith('/index.ts'),
          `${name}: a room does not enter itself by its own door`,
        );
      } else if (name.startsWith('#')) {
        assert.ok(!name.includes('/'), `${name}: only hub/app chooses a driver`);
        assert.ok(
          (floorOf.get(name.slice(1)) ?? Infinity) < floor,
          `${room} may not use ${name}: arrows point down`,
        );
      } else if (!isBuiltin(name)) {
        const rooms = keptTo[packageOf(name)];
        assert.ok(!rooms || rooms.includes(room), `${name} is kept to ${rooms?.join(', ')}`);
        assert.ok(
          [manifest.dependencies, manifest.optionalDependencies].some(packages =>
            Object.hasOwn(packages, packageOf(name)),
          ),
          `${name} is no dependency in package.json: the hub's image is built without it`,
        );
      }
    }
    assert.ok(!circle(file), 'imports itself in a circle');
    const lines = readFileSync(file, 'utf8').split('\n').length;
    if (lines > 300) await annotate(`${file} has ${lines} lines: is there a second purpose in it?`);
  });
}

test('only the entry point is outside the rooms', () => {
  assert.deepEqual(globSync('hub/*.ts'), [join('hub', 'main.ts')]);
});

test('no room imports the composition root', () => {
  for (const file of globSync(roomFiles))
    for (const name of importsOf(file))
      assert.ok(!/(?:\.\.\/)app\/|^#app$/.test(name), `${file} imports ${name}`);
});

test('every room has a door', () => {
  const rooms = globSync(roomFiles).map(roomOf);
  for (const room of new Set(rooms))
    assert.equal(globSync(`hub/${room}/index.ts`).length, 1, `hub/${room} has no index.ts`);
});
