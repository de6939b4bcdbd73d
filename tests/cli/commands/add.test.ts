import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openScratch } from '../../clients/machine.ts';
import { fieldOf, jsonOf, withHub } from '../hub.ts';

const at = withHub();
const { cli } = at;

describe('add and remove', () => {
  test('install, show how far it is on a terminal, and remove', async () => {
    const { code, out, err } = await cli(['add', 'echo@1.0.0', '--name', 'mine'], { columns: 80 });
    assert.equal(code, 0, err);
    assert.match(out, /installed\S* mine \(echo@1\.0\.0\): 17 tools$/);
    assert.match(err, /trial: it is started once/);
    assert.deepEqual(await cli(['remove', 'mine']), { code: 0, out: 'removed mine', err: '' });
    assert.ok(!at.entries.has('mine'));
  });

  test('options become the entry, and secrets in clear are warned of', async () => {
    const { code, out, err } = await cli(
      'add echo@1.0.0 --name own --json --arg=--deep --arg x -e GIVEN -e API_KEY=a=b --tag work --system-package git --system-package jq --volume notes:/data --network bridge --allow network:bridge --allow variable:GIVEN'.split(
        ' ',
      ),
    );
    assert.deepEqual({ code, err }, { code: 0, err: '' });
    assert.deepEqual(at.entries.get('own'), {
      package: 'echo@1.0.0',
      args: ['--deep', 'x'],
      env: { GIVEN: '${GIVEN}', API_KEY: 'a=b' },
      tags: ['work'],
      system_packages: ['git', 'jq'],
      volumes: { notes: '/data' },
      network: 'bridge',
    });
    assert.deepEqual(fieldOf(jsonOf(out), 'in_clear'), ['env.API_KEY']);
    const removed = jsonOf((await cli(['remove', 'own', '--purge', '--json'])).out);
    assert.equal(fieldOf(removed, 'name'), 'own');
  });

  test('a program that the server misses is offered, once, and a no keeps the error', async () => {
    const wanting = ['add', 'wants-git@1.0.0', '--name', 'own'];
    for (const answer of ['y', 'n']) {
      const asked: string[] = [];
      const ask = async (question: string) => {
        asked.push(question);
        return answer;
      };
      const { code, err } = await cli(wanting, undefined, { ask });
      assert.notEqual(code, 0);
      // The stand-in misses it again: it is not offered a second time.
      assert.deepEqual(asked, ['Install git in its image, and try again? [y/N] ']);
      assert.match(err, /does not find git\. Add "system_packages": \["git"\]/);
    }
    const { err } = await cli(wanting);
    assert.match(err, /Add "system_packages": \["git"\]/, 'without a terminal it is only said');
    assert.equal(at.entries.size, 0);
  });

  const loosened = ['add', 'echo@1.0.0', '--name', 'own', '--network', 'bridge', '-e', 'GIVEN'];

  test('each setting beyond the default sandbox is asked for, one by one', async () => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'y';
    };
    const { code, err } = await cli(loosened, undefined, { ask });
    assert.equal(code, 0, err);
    assert.deepEqual(asked, ['Allow network:bridge? [y/N] ', 'Allow variable:GIVEN? [y/N] ']);
    assert.match(err, /^own: It can reach the network/m);
    assert.match(err, /^own: It can read GIVEN .*env\.GIVEN/m);
    await cli(['remove', 'own']);
  });

  test('a no to one of them installs nothing', async () => {
    const ask = async (question: string) => (question.includes('network') ? 'y' : '');
    const { code, err } = await cli(loosened, undefined, { ask });
    assert.equal(code, 1);
    assert.match(err, /Nothing was installed\.$/);
    assert.equal(at.entries.size, 0);
  });

  test('--allow agrees to one, and the others are asked for', async () => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'yes';
    };
    const { code } = await cli([...loosened, '--allow', 'variable:GIVEN'], undefined, { ask });
    assert.equal(code, 0);
    assert.deepEqual(asked, ['Allow network:bridge? [y/N] ']);
    await cli(['remove', 'own']);
  });

  test('where nobody can be asked, the flags that agree are named', async () => {
    const { code, err } = await cli(loosened);
    assert.equal(code, 2);
    assert.match(err, /add --allow network:bridge --allow variable:GIVEN$/);
    const wrong = await cli([...loosened, '--allow', 'network:host']);
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.err,
      /--allow: "network:host" is not a setting that own asks for: network:bridge/,
    );
    assert.equal(at.entries.size, 0);
  });

  test('what the installer wrote is shown where it fails', async () => {
    const { code, out, err } = await cli(['add', 'wants-a-key@1.0.0']);
    assert.deepEqual({ code, out }, { code: 1, out: '' });
    assert.match(err, /set EXAMPLE_API_KEY for the hub/);
    assert.match(err, /^ {2}\| Error: the variable EXAMPLE_API_KEY is required$/m);
    assert.equal(at.entries.size, 0);
  });

  test.for([
    [['add', 'echo@1.0.0', '-e', '=secret'], /^--env: a name is missing: write --env NAME=value$/],
    [
      ['add', 'echo@1.0.0', '--volume', './notes:/x'],
      /^--volume: .*For a folder of this machine, use --mount$/,
    ],
    [
      ['add', 'echo@1.0.0', '--volume', 'a:/x', '--volume', 'a:/y'],
      /^--volume: "a" appears twice\. Write each name once$/,
    ],
    [['add', 'echo@1.0.0', '--header', 'secret'], /^--header: a name is missing/],
    [['add', 'a b'], /^package: "a b" is not allowed/],
    [['add', 'echo@1.0.0', '--network', 'host'], /network: .*"none" or "bridge"/],
  ] as const)('%j exits with 2', async ([args, message]) => {
    const { code, out, err } = await cli(args);
    assert.deepEqual({ code, out }, { code: 2, out: '' });
    assert.match(err, message);
  });
});

describe('what a server needs', () => {
  /** Adds a server on a machine with the folder `notes`, and resolves to its entry. */
  async function added(args: readonly string[], answers?: readonly string[]) {
    await using scratch = await openScratch();
    await scratch.put('notes/a.md', '');
    const notes = `${scratch.home}/notes`;
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answers?.[asked.length - 1] ?? assert.fail(`not expected: ${question}`);
    };
    const line = ['add', 'echo@1.0.0', '--name', 'own', ...args].map(word =>
      word.replace('NOTES', notes),
    );
    const { code, err } = await cli(line, undefined, {
      openClients: async () => scratch.clients,
      ...(answers && { ask }),
    });
    const entry = at.entries.get('own');
    if (code === 0) await cli(['remove', 'own']);
    const text = (value: unknown) => JSON.stringify(value).replaceAll(scratch.home, '');
    return { code, asked, err: err.replaceAll(scratch.home, ''), entry: entry && text(entry) };
  }

  const key = ['-e', 'API_KEY=b'];
  const entryOf = (more: object) =>
    JSON.stringify({ package: 'echo@1.0.0', args: ['/notes'], ...more });

  test('is asked for: folders to mount, and the network', async () => {
    const read = await added(['--arg', 'NOTES', ...key], ['', '']);
    assert.equal(read.code, 0, read.err);
    assert.match(read.err, /^Its container does not have \/notes\.$/m);
    assert.deepEqual(read.asked, [
      'Mount it? [Y]es, read-only, [w]ritable, [n]o: ',
      'It probably needs the network: any host. Allow that? [Y/n] ',
    ]);
    assert.equal(
      read.entry,
      entryOf({ env: { API_KEY: 'b' }, mounts: ['/notes:/notes'], network: 'bridge' }),
    );
  });

  test('is as writable as the answer says, without a second question', async () => {
    const { entry, asked } = await added(['--arg', 'NOTES'], ['w']);
    assert.deepEqual([entry, asked.length], [entryOf({ mounts: ['/notes:/notes:rw'] }), 1]);
    const none = await added(['--arg', 'NOTES'], ['n']);
    assert.equal(none.entry, entryOf({}));
  });

  test('is given by --allow needed, and named where nobody can be asked', async () => {
    const given = await added(['--arg', 'NOTES', ...key, '--allow', 'needed']);
    assert.equal(
      given.entry,
      entryOf({ env: { API_KEY: 'b' }, mounts: ['/notes:/notes'], network: 'bridge' }),
      given.err,
    );
    const { entry, err } = await added(['--arg', 'NOTES', ...key]);
    assert.equal(entry, entryOf({ env: { API_KEY: 'b' } }));
    assert.match(err, /note.*does not have \/notes: add --mount \/notes:\/notes$/m);
    assert.match(err, /note.*it probably needs the network \(any host\): add --network bridge/);
  });
});
