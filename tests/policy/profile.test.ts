import { expect, test } from 'vitest';
import { type Use, createPolicy, hintsOf, restrictToProfile, withProfile } from '#policy';
import { caller } from '#helpers/principal';

const itemOf = (kind: 'tool' | 'resource', server: string, ownName: string): Use => ({
  method: kind === 'tool' ? 'tools/call' : 'resources/read',
  server,
  item: { kind, name: `${server}_${ownName}`, ownName, hints: () => hintsOf(undefined) },
});
const tool = (server: string, name: string) => itemOf('tool', server, name);
const base = createPolicy({
  policy: [{ tools: ['files_write'], action: 'deny' }],
  servers: [],
});
type Lists = Partial<Record<'servers' | 'tools' | 'hiddenTools', readonly string[]>>;
const through = (lists: Lists) =>
  restrictToProfile(
    'work',
    { name: 'work', servers: [], tools: [], hiddenTools: [], ...lists },
    base,
  );
const mixed = through({ servers: ['files'], tools: ['time_*'], hiddenTools: ['files_move'] });

test.each([
  ['shows every tool of a server', mixed, tool('files', 'read'), 'allow'],
  ['shows the resources of a server', mixed, itemOf('resource', 'files', 'a'), 'allow'],
  ['allows nothing that the policy denies', mixed, tool('files', 'write'), 'deny'],
  ['hides a tool of a server that it shows', mixed, tool('files', 'move'), 'deny'],
  ['shows a tool of another server', mixed, tool('time', 'now'), 'allow'],
  ['shows no resources of a server for its tools', mixed, itemOf('resource', 'time', 'a'), 'deny'],
  ['hides all else', mixed, tool('notes', 'read'), 'deny'],
  ['lets methods of the hub pass', mixed, { method: 'logging/setLevel' }, 'allow'],
  [
    'shows the rest if it only hides',
    through({ hiddenTools: ['files_move'] }),
    tool('notes', 'read'),
    'allow',
  ],
  ['shows everything without lists', through({}), tool('notes', 'read'), 'allow'],
  [
    'shows nothing of a server that it does not name',
    through({ servers: ['files'] }),
    { method: 'x/y', server: 'notes' },
    'deny',
  ],
  [
    'shows nothing once it is removed',
    restrictToProfile('work', undefined, undefined),
    tool('files', 'read'),
    'deny',
  ],
] as const)('a profile %s', (_what, policy, use, expected) => {
  expect(policy.decide(use, 'local').action).toBe(expected);
});

test('a tool outside a profile is refused with the name of the profile', () => {
  const { rule, reason } = mixed.decide(tool('notes', 'read'), 'local');
  expect([rule, reason]).toEqual([
    'profiles.work',
    'the profile "work" does not show it. Add it to profiles.work in the config, or connect without the profile',
  ]);
});

test('a principal is the same object for each profile', () => {
  const viewer = withProfile(caller, 'work');
  expect(viewer).toEqual({ ...caller, profile: 'work' });
  expect(withProfile(caller, 'work')).toBe(viewer);
  expect(withProfile(viewer, 'work')).toBe(viewer);
  expect(withProfile(viewer, 'home').profile).toBe('home');
  expect(withProfile(caller, undefined)).toBe(caller);
});
